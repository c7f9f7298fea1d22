"""The dice agent: what it rolls, what people may say, and the same roll for the same call."""

from collections import Counter
from typing import Any

import pytest

ROLLS = {
    "8 3": (8, 3),
    "3d8": (8, 3),
    "3 D 8": (8, 3),
    "d20": (20, 1),
    "8": (8, 1),
    "three dice": (6, 3),
    "2 dice": (6, 2),
    "the dice": (6, 2),
    "a die": (6, 1),
    "": (6, 1),
    "two twenty-sided dice": (20, 2),
    "an 8-sided die": (8, 1),
    "1000000 100": (1_000_000, 100),
}


@pytest.mark.parametrize("said", ROLLS)
def test_it_rolls_the_dice_that_are_meant(client: Any, said: str) -> None:
    sides, count = ROLLS[said]
    dice = [int(die) for die in client("dice").call("/dice/roll", said).text.split(" ")]
    assert len(dice) == count
    assert all(1 <= die <= sides for die in dice)


@pytest.mark.parametrize("said", ["0 3", "8 0", "8 101", "1000001 1", "999999999999 1", "8 3 2", "d0", "hello", "-6 2"])
def test_it_says_which_dice_it_cannot_roll(client: Any, said: str) -> None:
    answer = client("dice").call("/dice/roll", said)
    assert (answer.status, answer.document["error"]["code"]) == (400, "invalid_argument")
    assert answer.text == answer.document["error"]["message"]


def test_the_same_call_made_again_rolls_the_same_dice(client: Any) -> None:
    caller = client("dice")
    again = {caller.call("/dice/roll", "1000000 5", Idempotency_Key="run/1").text for _ in range(5)}
    other = caller.call("/dice/roll", "1000000 5", Idempotency_Key="run/2").text
    free = {caller.call("/dice/roll", "1000000 5").text for _ in range(5)}
    assert len(again) == 1
    assert other not in again
    assert len(free) == 5


def test_the_total_adds_up(client: Any) -> None:
    addends, _, total = client("dice").call("/dice/total", "6 10").text.partition(" = ")
    assert sum(map(int, addends.split(" + "))) == int(total)
    assert client("dice").call("/dice/total", "1 1").text == "1"


def test_every_side_comes_up_about_as_often(client: Any) -> None:
    caller = client("dice")
    counts = Counter(die for _ in range(30) for die in caller.call("/dice/roll", "6 100").text.split())
    assert set(counts) == set("123456")
    assert min(counts.values()) > 350  # of 500; less happens once in 10^11 runs


def test_coins_fall_on_both_sides(client: Any) -> None:
    coins = client("dice").call("/dice/flip", "a hundred coins").text.split()
    assert len(coins) == 100
    assert set(coins) == {"heads", "tails"}
    assert client("dice").call("/dice/flip", "").text in ("heads", "tails")


def test_it_picks_a_number_from_a_range(client: Any) -> None:
    caller = client("dice")
    assert {int(caller.call("/dice/pick", "3 1").text) for _ in range(60)} == {1, 2, 3}
    assert caller.call("/dice/pick", "between -5 and -5").text == "-5"
    assert caller.call("/dice/pick", "a number").status == 400
