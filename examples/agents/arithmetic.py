"""A parser of arithmetic: whatever stands in the text, the work is bounded and only ArithmeticTrouble is raised.

    sum     = product (("+" | "-") product)*
    product = signed (("*" | "/" | "%" | "mod" | "of" | "off" | nothing before a name or parenthesis) signed)*
    signed  = "-" signed | power
    power   = postfix ("^" signed)?
    postfix = operand ("!" | "%")*
    operand = NUMBER | CONSTANT | "(" sum ")" | FUNCTION "(" sum ("," sum)* ")" | FUNCTION "of"? signed

A % is the remainder where an operand follows it, and a percentage where none does.
"""

import math
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal, DecimalException, DivisionByZero, Overflow, localcontext

MAX_LENGTH = 500
MAX_DEPTH = 40
# 50 digits hide the rounding of every step; the exponent's bound is what stops 9^9^9.
CONTEXT = Context(prec=50, Emax=9999, Emin=-9999, rounding=ROUND_HALF_UP)

TOKEN = re.compile(r"\s*(\d+\.?\d*(?:e[+-]?\d{1,4})?|\.\d+|[a-z]\w*|\*\*|\S)", re.IGNORECASE | re.ASCII)

CONSTANTS = {"pi": CONTEXT.create_decimal("3.14159265358979323846264338327950288419716939937511")}
CONSTANTS["tau"] = CONTEXT.multiply(2, CONSTANTS["pi"])
CONSTANTS["e"] = CONTEXT.exp(1)


class ArithmeticTrouble(Exception):
    """Says in a sentence why there is no result."""


class Percent(Decimal):
    """A number written with %: `80 + 15%` means 15 % of the 80."""


def evaluate(text: str) -> Decimal:
    """The value of an expression, to 50 digits. Raises ArithmeticTrouble."""
    if len(text) > MAX_LENGTH:
        raise ArithmeticTrouble(f"That is too long for me: I read {MAX_LENGTH} characters.")
    with localcontext(CONTEXT):
        try:
            return +Parser(text).parse()
        except DivisionByZero:
            raise ArithmeticTrouble("I cannot divide by zero.") from None
        except Overflow:
            raise ArithmeticTrouble("That number is too large for me.") from None
        except (DecimalException, ValueError):
            raise ArithmeticTrouble("That has no real number as its result.") from None


def through_float(function: Callable[[float], float]) -> Callable[[Decimal], Decimal]:
    def wrapped(value: Decimal) -> Decimal:
        return Decimal(repr(round(function(float(value)), 15)))

    return wrapped


def to_whole(rounding: str | None = None) -> Callable[[Decimal], Decimal]:
    return lambda value: value.to_integral_value(rounding)


def round_to(value: Decimal, digits: Decimal = Decimal()) -> Decimal:
    if not (digits == int(digits) and 0 <= digits <= 30):
        raise ArithmeticTrouble("I can round to 0 to 30 digits.")
    return value.quantize(Decimal(1).scaleb(-int(digits)))


def factorial(value: Decimal) -> Decimal:
    if not (0 <= value <= 1000 and value == int(value)):
        raise ArithmeticTrouble("I know the factorials of 0 to 1000.")
    return math.prod(map(Decimal, range(1, int(value) + 1)), start=Decimal(1))


def logarithm(value: Decimal, base: Decimal = Decimal(10)) -> Decimal:
    return value.log10() if base == 10 else value.ln() / base.ln()


def power(base: Decimal, exponent: Decimal) -> Decimal:
    if base == 0 and exponent < 0:
        raise DivisionByZero
    return Decimal(1) if exponent == 0 else base**exponent


def modulo(value: Decimal, by: Decimal) -> Decimal:
    """The remainder with the sign of `by`, as in Python."""
    rest = value % by
    return rest + by if rest and (rest < 0) != (by < 0) else rest


OPERATORS: dict[str, Callable[[Decimal, Decimal], Decimal]] = {
    "*": Decimal.__mul__,
    "of": Decimal.__mul__,
    "/": Decimal.__truediv__,
    "%": modulo,
    "mod": modulo,
    "off": lambda part, whole: whole - whole * part,
}
FUNCTIONS: dict[str, Callable[..., Decimal]] = {
    "sqrt": Decimal.sqrt,
    "cbrt": lambda value: power(abs(value), Decimal(1) / 3).copy_sign(value),
    "abs": abs,
    "round": round_to,
    "floor": to_whole("ROUND_FLOOR"),
    "ceil": to_whole("ROUND_CEILING"),
    "exp": Decimal.exp,
    "ln": Decimal.ln,
    "log": logarithm,
    "sin": through_float(math.sin),
    "cos": through_float(math.cos),
    "tan": through_float(math.tan),
    "min": lambda *values: min(values),
    "max": lambda *values: max(values),
    "factorial": factorial,
}


class Parser:
    """Reads one expression; `parse` gives its value in the current decimal context."""

    def __init__(self, text: str) -> None:
        self.tokens = [match[1].lower() for match in TOKEN.finditer(text)] + [""]
        self.position = 0
        self.depth = 0

    def parse(self) -> Decimal:
        value = self.sum()
        if self.ahead:
            raise ArithmeticTrouble(f"I do not understand “{self.ahead}” there.")
        return value

    @property
    def ahead(self) -> str:
        """The next token; empty at the end."""
        return self.tokens[self.position]

    def take(self, *wanted: str) -> str:
        """Consumes the next token if it is one of `wanted`, and returns it; else returns an empty string."""
        token = self.ahead
        if token not in wanted or not token:
            return ""
        self.position += 1
        return token

    def close(self) -> None:
        """Consumes the closing parenthesis; at the end of the text it may be left out."""
        if self.ahead and not self.take(")"):
            raise ArithmeticTrouble(f"A “)” is missing before “{self.ahead}”.")

    def sum(self) -> Decimal:
        value = self.product()
        while operator := self.take("+", "-"):
            right = self.product()
            amount = value * right if isinstance(right, Percent) else right
            value = value + amount if operator == "+" else value - amount
        return value

    def product(self) -> Decimal:
        value = self.signed()
        while operator := self.take(*OPERATORS) or self.implied():
            value = OPERATORS[operator](value, self.signed())
        return value

    def implied(self) -> str:
        """The multiplication that nobody writes in 2(3 + 4) or 2pi."""
        return "*" if self.ahead in {"(", *CONSTANTS, *FUNCTIONS} else ""

    def signed(self) -> Decimal:
        self.depth += 1  # every way down leads through here
        if self.depth > MAX_DEPTH:
            raise ArithmeticTrouble("That is nested too deeply for me.")
        sign = self.take("-", "+")
        value = self.signed() if sign else self.power()
        self.depth -= 1
        return -value if sign == "-" else value

    def power(self) -> Decimal:
        base = self.postfix()
        return power(base, self.signed()) if self.take("^", "**") else base

    def postfix(self) -> Decimal:
        value = self.operand()
        while self.ahead == "!" or (self.ahead == "%" and not starts_operand(self.tokens[self.position + 1])):
            value = Percent(value / 100) if self.take("%", "!") == "%" else factorial(value)
        return value

    def operand(self) -> Decimal:
        if self.take("("):
            value = self.sum()
            self.close()
            return value
        token = self.ahead
        self.position += bool(token)
        if token in CONSTANTS:
            return CONSTANTS[token]
        if token in FUNCTIONS:
            return self.call(token)
        if starts_operand(token):
            return +Decimal(token)
        raise ArithmeticTrouble(f"I do not understand “{token}”." if token else "Something is missing there.")

    def call(self, name: str) -> Decimal:
        arguments = self.arguments()
        try:
            value = FUNCTIONS[name](*arguments)
        except TypeError:
            raise ArithmeticTrouble(f"“{name}” takes another number of values.") from None
        if not value.is_finite():  # the logarithm of 0
            raise ArithmeticTrouble(f"“{name}” has no value there.")
        return value

    def arguments(self) -> list[Decimal]:
        self.take("of")
        if not self.take("("):
            return [self.signed()]
        values = [self.sum()]
        while self.take(","):
            values.append(self.sum())
        self.close()
        return values


def starts_operand(token: str) -> bool:
    return token[:1].isdecimal() or token[:1] == "." != token or token in {"(", *CONSTANTS, *FUNCTIONS}
