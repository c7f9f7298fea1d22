"""`#KEY` in texts, and the numbers that embeds get in a session."""

import re
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.references import KEY_MAX, Embeds, named, naming, numbered, placed, rewritten

A, B, C = (UUID(int=number) for number in range(1, 4))


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("", []),
        ("what is #1?", [1]),
        ("#2, #1 and #2", [2, 1]),
        ("(#12)", [12]),
        ("###1", [1]),
        ("##1 and #### 1 and # 1", []),
        ("#1st #01 #0 #x #1_", []),
        ("#99999999999 #2147483648", []),
        ("#2147483647", [KEY_MAX]),
        ("#1#2", [1, 2]),
    ],
)
def test_a_number_behind_an_odd_number_of_pounds_is_a_reference(text: str, keys: list[int]) -> None:
    assert named(text) == keys


@given(st.text(alphabet="#123a "))
def test_what_is_named_is_what_the_published_client_finds_where_the_number_stands_alone(text: str) -> None:
    found = [int(m["n"]) for m in re.finditer(r"(?<!#)(##)*#(?!#)(?P<n>[1-9][0-9]*)(?!\w)", text)]
    assert named(text) == [key for key in dict.fromkeys(found) if key <= KEY_MAX]


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("#1 and #2", {"1": "#2", "2": "#1"}, "#2 and #1"),
        ("#12 is not #1", {"1": "#7"}, "#12 is not #7"),
        ("##1 is literal, ###1 is not", {"1": "#7"}, "##1 is literal, ###7 is not"),
        ("#chart, #chart2", {"chart": "#1"}, "#1, #chart2"),
        ("#my chart-1 #my", {"my chart-1": "#1", "my": "#2"}, "#1 #2"),
        ("#(.*) #", {"(.*)": "#1"}, "#1 #"),
        ("#a", {"": "#1"}, "#a"),
    ],
)
def test_references_are_rewritten_at_once_and_as_a_whole(text: str, words: dict[str, str], expected: str) -> None:
    assert rewritten(text, words) == expected


def test_a_text_is_made_to_name_what_it_does_not_name_yet() -> None:
    assert naming("what is #2?", [1, 2, 3]) == "what is #2? #1 #3"


@pytest.mark.parametrize(
    ("text", "own", "taken", "expected", "keys", "new"),
    [
        ("#1", {"1": A}, {}, "#1", (1,), {1: A}),
        ("#1", {"1": B}, {1: A}, "#2", (2,), {2: B}),
        ("#1", {"1": A}, {1: A}, "#1", (1,), {}),
        ("#2", {"2": A}, {1: A}, "#1", (1,), {}),
        ("#3", {"3": A}, {1: A, 3: A}, "#3", (3,), {}),
        ("#7", {"7": A}, {}, "#7", (7,), {7: A}),
        ("see #chart", {"chart": A}, {}, "see #1", (1,), {1: A}),
        ("#x #1", {"x": A, "1": B}, {}, "#2 #1", (1, 2), {1: B, 2: A}),
        ("#1 #2", {"1": A, "2": A}, {}, "#1 #1", (1,), {1: A}),
        ("#1 #2", {"1": B, "2": C}, {1: A}, "#3 #2", (2, 3), {2: C, 3: B}),
        ("as #1", {}, {1: A, 2: B}, "as #1", (1,), {}),
        ("issue #4", {}, {1: A}, "issue #4", (), {}),
        ("#chart of issue #1", {"chart": A}, {}, "#2 of issue #1", (2,), {2: A}),
        ("nothing", {"01": A, "0": B, "2147483648": C}, {}, "nothing", (1, 2, 3), {1: A, 2: B, 3: C}),
    ],
)
def test_embeds_get_numbers_of_the_session(
    text: str,
    own: dict[str, UUID],
    taken: dict[int, UUID],
    expected: str,
    keys: tuple[int, ...],
    new: dict[int, UUID],
) -> None:
    assert placed(text, own, taken) == (expected, Embeds(keys, new))


EMBEDS = st.sampled_from([UUID(int=number) for number in range(6)])
KEYS = st.one_of(st.integers(1, 8).map(str), st.sampled_from(["chart", "a b", "01", "mask-1"]))
OWN = st.dictionaries(KEYS, EMBEDS, max_size=8)
TAKEN = st.dictionaries(st.integers(1, 8), EMBEDS, max_size=6)
PIECES = st.one_of(st.sampled_from(["##", " ", "x", "\n", "."]), KEYS.map(lambda key: f"#{key} "))
TEXTS = st.lists(PIECES).map("".join)


@given(OWN, TAKEN)
def test_every_number_means_one_embed(own: dict[str, UUID], taken: dict[int, UUID]) -> None:
    numbers = numbered(own, taken)
    assert numbers.keys() == own.keys()
    meaning = dict(taken)
    for key, number in numbers.items():
        assert meaning.setdefault(number, own[key]) == own[key]
    # What the session has gets no other number, and what is new just one.
    fresh = {key: number for key, number in numbers.items() if own[key] not in taken.values()}
    assert len(set(fresh.values())) == len({own[key] for key in fresh})
    assert all(number in taken for key, number in numbers.items() if own[key] in taken.values())


@given(TEXTS, OWN, TAKEN)
def test_a_text_means_the_same_embeds_before_and_after(text: str, own: dict[str, UUID], taken: dict[int, UUID]) -> None:
    told, embeds = placed(text, own, taken)
    meant = {str(key): embed for key, embed in taken.items()} | own
    found = re.findall(r"(?<!#)(?:##)*#(?!#)(a b|mask-1|\w+)(?!\w)", text)
    before = [meant[key] for key in found if key in meant]
    session = taken | dict(embeds.new)
    after = [
        session[key] for key in map(int, re.findall(r"(?<!#)(?:##)*#(?!#)([1-9]\d*)(?!\w)", told)) if key in session
    ]
    assert after == before
    assert set(embeds.keys) >= {key for key in named(told) if key in session}
    assert not embeds.new.keys() & taken.keys()


@given(TEXTS, OWN, TAKEN)
def test_a_message_that_is_placed_again_stays_as_it_is(text: str, own: dict[str, UUID], taken: dict[int, UUID]) -> None:
    told, embeds = placed(text, own, taken)
    session = taken | dict(embeds.new)
    again = {str(key): session[key] for key in embeds.keys}
    assert placed(told, again, session) == (told, Embeds(embeds.keys, {}))
