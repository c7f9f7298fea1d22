"""The calculator: it agrees with Python's own arithmetic, and whatever it is given, its work is bounded."""

import contextlib
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from examples.agents.arithmetic import ArithmeticTrouble, evaluate
from examples.agents.calculator import calc, shown
from examples.agents.serving import AgentError, Call

SAID = {
    "3 * (4 + 5)": "27",
    "what is 2 + 3 * 4?": "14",
    "-2^2": "-4",
    "2^3^2": "512",
    "2 ** -1": "0.5",
    "(1 + 2)(3 + 4)": "21",
    "2pi": "6.28318530717959",
    "15% of 80": "12",
    "what is 12.5 percent of 200": "25",
    "80 + 15%": "92",
    "100 - 20%": "80",
    "20% off 50": "40",
    "50%": "0.5",
    "17 % 5": "2",
    "-17 mod 5": "3",
    "square root of 2": "1.4142135623731",
    "the square root of 16 plus 9": "13",
    "sqrt(16": "4",
    "cube root of -27": "-3",
    "seven times eight": "56",
    "twenty-one plus a hundred": "121",
    "subtract 3 from 10": "7",
    "divide 100 by 8": "12.5",
    "half of 90": "45",
    "5 squared": "25",
    "6 factorial": "720",
    "0.1 + 0.2": "0.3",
    "1/3*3": "1",
    "1,234,567 + 1": "1234568",
    "$5 × 3": "15",  # noqa: RUF001
    "max(1,200,3)": "200",
    "round(pi, 2)": "3.14",
    "sin(pi)": "0",
    "log(8, 2)": "3",
    "2^100": "1267650600228229401496703205376",
    "2^200": "1.60693804425899e60",
    "1 / 10^9": "1e-9",
}
TROUBLE = [
    *("", "   ", "x", "2 +", "(2 3", "2)", "2 3", "1/0", "0/0", "0^-1", "ln(0)", "(-8)^0.5", "sqrt(1, 2)", "log(2, 1)"),
    *("9**9**9", "9^9^9^9", "1e9999 * 10", "1001!", "1000!!", "(" * 200, "-" * 200, "2^" * 100 + "2", "1+" * 300 + "1"),
    *("__import__('os')", "().__class__", "[1]*9", "1;2", "round(2, 1e9)"),
]


def calculated(text: str) -> str:
    return calc(Call(text, {}, None))


@pytest.mark.parametrize("said", SAID)
def test_it_understands_what_people_write(client: Any, said: str) -> None:
    assert client("calculator").call("/calculator/calc", said).text == SAID[said]


@pytest.mark.parametrize("said", TROUBLE)
def test_it_says_what_is_wrong_and_takes_no_time_over_it(client: Any, said: str) -> None:
    began = time.monotonic()
    answer = client("calculator").call("/calculator/calc", said)
    assert time.monotonic() - began < 0.5
    assert answer.status == 400
    assert answer.text.endswith(".")


@dataclass(frozen=True)
class Expression:
    """A text, and its exact value; None where that has none or more digits than the calculator keeps."""

    text: str
    value: Fraction | None


def joined(left: Expression, operator: str, right: Expression) -> Expression:
    value = None if left.value is None or right.value is None else applied(left.value, operator, right.value)
    return Expression(f"({left.text}) {operator} ({right.text})", value)


def applied(left: Fraction, operator: str, right: Fraction) -> Fraction | None:
    match operator:
        case "+":
            value = left + right
        case "-":
            value = left - right
        case "*":
            value = left * right
        case "/" if right:
            value = left / right
        case "^" if right.denominator == 1 and 0 <= right <= 8:
            value = left ** int(right)
        case _:
            return None
    return value if abs(value) < 10**49 else None


def trees(leaves: st.SearchStrategy[Fraction], operators: str, *, signed: bool) -> st.SearchStrategy[Expression]:
    def grown(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        branches = st.builds(joined, inner, st.sampled_from(operators), inner)
        return branches | inner.map(negated) if signed else branches

    return st.recursive(leaves.map(lambda leaf: Expression(f"{float(leaf):f}", leaf)), grown, max_leaves=12)


def negated(tree: Expression) -> Expression:
    return Expression(f"-({tree.text})", None if tree.value is None else -tree.value)


@given(trees(st.integers(0, 10**6).map(Fraction), "+-*^", signed=True))
@settings(max_examples=300, deadline=None)
def test_whole_numbers_are_exact(tree: Expression) -> None:
    assume(tree.value is not None and len(tree.text) <= 500)
    assert Fraction(evaluate(tree.text)) == tree.value


@given(trees(st.integers(0, 10**6).map(lambda n: Fraction(n, 1000)), "+*/^", signed=False))
@settings(max_examples=300, deadline=None)
def test_fractions_are_right_to_forty_digits(tree: Expression) -> None:
    assume(tree.value is not None and len(tree.text) <= 500)
    assert tree.value is not None
    assert abs(Fraction(evaluate(tree.text)) - tree.value) <= tree.value / 10**40


@given(st.lists(st.sampled_from([*"+-*/", "**"]), min_size=1, max_size=8), st.data())
@settings(max_examples=300, deadline=None)
def test_it_agrees_with_python_on_precedence(operators: list[str], data: st.DataObject) -> None:
    operands = data.draw(st.lists(st.integers(1, 4), min_size=len(operators) + 1, max_size=len(operators) + 1))
    text = str(operands[0]) + "".join(f" {o} {n}" for o, n in zip(operators, operands[1:], strict=True))
    signed = data.draw(st.sampled_from(["", "-"])) + text
    assume(signed.count("**") <= 2)  # Python would build the number, however large
    assert float(evaluate(signed)) == pytest.approx(float(eval(signed)), rel=1e-12)


@given(st.one_of(st.text(max_size=600), st.text("0123456789.+-*/^!%(), ofmdsqrtelnpiax", max_size=600)))
@example("1000!" * 100)
@example("0.5^9999^9999")
@example("1e-9999/1e9999")
@settings(max_examples=500, deadline=1000)
def test_it_raises_nothing_but_its_own_error(text: str) -> None:
    for function, error in ((evaluate, ArithmeticTrouble), (calculated, AgentError)):
        with contextlib.suppress(error):
            function(text)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**12), max_value=10**12))
def test_a_result_is_shown_without_losing_its_value(value: Any) -> None:
    assert abs(Fraction(shown(value)) - Fraction(value)) <= abs(Fraction(value)) * Fraction(1, 10**14)
