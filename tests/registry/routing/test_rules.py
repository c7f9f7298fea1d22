"""Keyword rules: pure."""

import pytest

from registry.routing.rules import Rule, matching


def rule(*keywords: str, name: str = "rule", task_type: str = "") -> Rule:
    return Rule(name, task_type, keywords, (1,))


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
    ],
)
def test_a_keyword_is_found_whatever_its_case_and_script(keyword, text):
    assert matching([rule(keyword)], text) is not None


@pytest.mark.parametrize(
    ("keyword", "text"),
    [("car", "a scary thing"), ("car", "carpet"), ("dice", "prejudice"), ("7", "17"), ("a b", "ab")],
)
def test_a_part_of_a_word_is_no_keyword(keyword, text):
    assert matching([rule(keyword)], text) is None


def test_the_first_rule_that_matches_decides():
    rules = [rule("coin", name="coins"), rule("dice", name="dice"), rule("dice", name="later"), rule(name="always")]
    assert matching(rules, "roll dice").name == "dice"
    assert matching(rules, "hello").name == "always"
    assert matching([], "hello") is None


def test_a_rule_is_for_its_own_task_type_alone():
    rules = [rule("dice", task_type="game"), rule("dice", name="typed by people")]
    assert matching(rules, "roll dice").name == "typed by people"
    assert matching(rules, "roll dice", "game").name == "rule"
    assert matching(rules, "roll dice", "work") is None
