"""Keyword rules: pure."""

import pytest

from registry.routing.rules import Rule, folded, matching


def rule(*keywords: str, name: str = "rule", task_type: str = "") -> Rule:
    return Rule(name, task_type, tuple(map(folded, keywords)), (1,))


@pytest.mark.parametrize(
    ("keyword", "text"),
    [
        ("dice", "Roll the DICE!"),
        ("Dice", "dice"),
        ("roll the dice", "please roll the dice now"),
        ("c++", "is C++ hard?"),
        (".net", "what is .NET"),
        ("ŻÓŁW", "gdzie jest żółw?"),
        ("straße", "Welche STRASSE?"),
        ("骰子", "請擲骰子三次"),
        ("7", "version 7, please"),
        ("custom", "Run my customised task"),
        ("CAR", "scary"),
        ("roll the dice", "roll  the\n\tdice"),
        ("roll\u00a0 the dice", "roll the dice"),
    ],
)
def test_a_keyword_is_found_whatever_its_case_its_script_and_its_spaces(keyword, text):
    assert matching([rule(keyword)], text)


@pytest.mark.parametrize(
    ("keyword", "text"),
    [("a b", "ab"), ("ab", "a b"), ("dice", "die"), ("c++", "c+"), (".net", "a net")],
)
def test_what_is_not_in_the_text_is_not_found(keyword, text):
    assert not matching([rule(keyword)], text)


def names(rules: list[Rule]) -> list[str]:
    return [each.name for each in rules]


def test_the_rules_that_match_come_in_their_order():
    rules = [rule("coin", name="coins"), rule("dice", name="dice"), rule("dice", name="later"), rule(name="always")]
    assert names(matching(rules, "roll dice")) == ["dice", "later", "always"]
    assert names(matching(rules, "hello")) == ["always"]
    assert matching([], "hello") == []


def test_a_rule_is_for_its_own_task_type_alone():
    rules = [rule("dice", task_type="game"), rule("dice", name="typed by people")]
    assert names(matching(rules, "roll dice")) == ["typed by people"]
    assert names(matching(rules, "roll dice", "game")) == ["rule"]
    assert matching(rules, "roll dice", "work") == []
