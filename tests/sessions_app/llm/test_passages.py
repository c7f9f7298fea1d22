"""Passages as they stand in a transcript."""

from registry.corpora.passages import Found, Passage, best
from sessions_app.llm.passages import PASSAGE_MAX, best_of, is_search, written


def test_passages_are_numbered_under_title_and_source() -> None:
    found = [
        Passage("One.\n\n\nTwo.", "https://x.example/a", "The\n title", 0.9),
        Passage("x" * 9000, "notes.txt", "notes.txt", 0.5),
    ]
    assert written(found) == f"[1] The title — https://x.example/a\nOne.\nTwo.\n\n[2] notes.txt\n{'x' * PASSAGE_MAX}"
    assert written([]) == ""


def test_a_passage_that_looks_like_the_next_one_does_not_cut_itself_off() -> None:
    text = written([Passage("Step\n\n[2] b\nand on", "a", "", 1.0), Passage("Else", "b", "", 0.5)])
    assert best_of(text) == "Step\n[2] b\nand on\n\nSource: a"


def test_other_texts_stay_as_they_are() -> None:
    for text in ("", "Nothing.", "[1] alone", "Two\n\nparagraphs"):
        assert best_of(text) == text


def test_searches_have_two_names_each() -> None:
    names = ("query_corpus", "fixie_query_corpus", "query_embed", "fixie_query_embed", "fixie_query", "roll", "")
    assert [is_search(name) for name in names] == [True, True, True, True, False, False, False]


def found(text: str, document: int, position: int, similarity: float) -> Found:
    return Found(text, f"doc{document}", "", document, position, similarity)


def test_the_best_are_not_all_of_one_place() -> None:
    page = [found(f"refund part {number}", 1, number, 0.8 - number / 100) for number in range(6)]
    others = [found("refund elsewhere", 2, 0, 0.5), found("about the weather", 3, 0, 0.4)]
    chosen = [(one.source, one.text) for one in best("refund", [*page, *others], 4)]
    assert chosen[:3] == [("doc1", "refund part 0"), ("doc1", "refund part 2"), ("doc2", "refund elsewhere")]
    assert len(chosen) == 4
    alone = [one.text for one in best("refund", page, 5)]
    assert alone == ["refund part 0", "refund part 2", "refund part 4"]


def test_words_in_common_decide_between_neighbours_in_meaning() -> None:
    near = [found("A train to Rome", 1, 0, 0.61), found("A train to Vienna", 2, 0, 0.6)]
    assert best("When does the train to Vienna leave?", near, 1)[0].source == "doc2"
    assert best("anything", [found("far away", 1, 0, 0.1)], 5) == []
    assert best("anything", [], 5) == []
