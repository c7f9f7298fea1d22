"""Where things stand in a TOML document."""

import re
import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.agents_toml.positions import Lines, Place

DOCUMENT = '''\
# An [[agents]] in a comment is none.
title = "[[agents]] in a text is none" # nor = this

[[agents]]
id = "first"
rate_limit = { requests_per_minute = 60, requests_per_day = 2000 }
args = [
    "one", # with [ a comment ]
    """two
    [[agents]]
    id = "no" """,
    'th"ree',
]
[agents.env]
"A.B" = 'C:\\'
plain.dotted = 1979-05-27 07:32:00

[[agents]]
  id = "second"
  nothing = [ ]
  deep = [[1, 2], [
    3]]
[routing]
rules = [
  { task_type = "a" },
  { keywords = ["x",
     "y"] },
]
"""quoted""" = 1
'''.replace('"""quoted""" = 1', '"quo\\nted" = """ends with quotes"""""')


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("title",), 2),
        (("agents", 0), 4),
        (("agents", 0, "id"), 5),
        (("agents", 0, "rate_limit", "requests_per_day"), 6),
        (("agents", 0, "args"), 7),
        (("agents", 0, "args", 0), 8),
        (("agents", 0, "args", 1), 9),
        (("agents", 0, "args", 2), 12),
        (("agents", 0, "env"), 14),
        (("agents", 0, "env", "A.B"), 15),
        (("agents", 0, "env", "plain", "dotted"), 16),
        (("agents", 1), 18),
        (("agents", 1, "id"), 19),
        (("agents", 1, "deep", 1, 0), 22),
        (("routing", "rules", 1, "keywords", 1), 27),
        (("routing", "quo\nted"), 29),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_value_is_found_on_the_line_where_it_stands(path: Place, line: int, end: str) -> None:
    text = DOCUMENT.replace("\n", end)
    tomllib.loads(text)
    assert Lines(text).at(path) == line


@pytest.mark.parametrize(
    ("path", "line"),
    [(("agents", 1, "command"), 18), (("agents", 0, "rate_limit", "x"), 6), (("nowhere",), 1), ((), 1)],
)
def test_what_is_missing_is_found_at_what_is_around_it(path: Place, line: int) -> None:
    assert Lines(DOCUMENT).at(path) == line


def test_an_empty_document_has_a_first_line() -> None:
    assert Lines("").at(("agents", 0)) == 1


texts = st.text(st.sampled_from("ab[]{}#=,.'\"\\\n\té\x7f ðŸ"), max_size=8)
basic = texts.map(
    lambda text: '"' + "".join(f"\\u{ord(each):04x}" if each in '"\\\n\t\x7f' else each for each in text) + '"'
)
literal = texts.map(lambda text: "'" + re.sub(r"['\n\x7f]", "", text) + "'")
long_basic = texts.map(lambda text: '"""' + re.sub(r'["\\\x7f]', "", text) + '"""')
long_literal = texts.map(lambda text: "'''\n" + re.sub(r"['\x7f]", "", text) + "'''")
scalars = st.one_of(
    basic, literal, long_basic, long_literal, st.sampled_from(["1", "-1.5e3", "true", "inf", "1979-05-27 07:32:00Z"])
)
keys = st.one_of(st.sampled_from(["a", "b-c", "1"]), basic, literal)
gaps = st.sampled_from(["", " ", "\n", " # a comment ] \" '''\n", "\n\n  "])


def lists(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    entries = st.tuples(gaps, values, gaps).map("".join)
    return st.lists(entries, max_size=3).map(lambda found: "[" + ",".join(found) + "]")


def tables(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.tuples(keys, values).map(" = ".join)
    return st.lists(pairs, max_size=3).map(lambda found: "{ " + ", ".join(found) + " }")


values = st.recursive(scalars, lambda inner: lists(inner) | tables(inner), max_leaves=6)
headers = st.tuples(st.sampled_from(["[%s]", "[[%s]]", "[ %s ] # c"]), st.lists(keys, min_size=1, max_size=3)).map(
    lambda found: found[0] % " . ".join(found[1])
)
statements = st.one_of(headers, st.tuples(st.lists(keys, min_size=1, max_size=2).map(".".join), values).map(" = ".join))
documents = st.lists(st.tuples(gaps.filter(lambda gap: gap != " "), statements), max_size=8).map(
    lambda found: "".join(f"{gap}{statement}\n" for gap, statement in found)
)


def paths_in(value: Any, path: Place = ()) -> set[Place]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return {path, *(found for key, below in inner for found in paths_in(below, (*path, key)))}


@settings(deadline=None)
@given(documents)
def test_every_value_of_any_document_is_found(text: str) -> None:
    try:
        read = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    lines = Lines(text)
    assert set(lines._lines) | {()} == paths_in(read)


@settings(deadline=None)
@given(st.lists(st.tuples(gaps, st.sampled_from(["[[x]]", "[[x]] # [[x]]", "[[ x ]]"]), scalars), min_size=1))
def test_the_lines_are_those_of_the_text(parts: list[tuple[str, str, str]]) -> None:
    text, expected = "", []
    for gap, header, value in parts:
        text += f"{gap}\n"
        expected.append(text.count("\n") + 1)
        text += f"{header}\nkey = {value}\n"
    lines = Lines(text)
    assert [lines.at(("x", place)) for place in range(len(parts))] == expected
    assert [lines.at(("x", place, "key")) for place in range(len(parts))] == [line + 1 for line in expected]
