"""A Code Shot agent that calculates: `python -m examples.agents.calculator --port 9002`."""

import re
from decimal import Context, Decimal

from examples.agents.arithmetic import MAX_LENGTH, ArithmeticTrouble, evaluate
from examples.agents.serving import Agent, AgentError, Call, code_shot, main
from examples.agents.words import with_digits

BASE_PROMPT = """I work out arithmetic.
Func[calc] takes an expression: + - * / ^ ! %, mod, parentheses, pi, e, and the functions
sqrt, cbrt, abs, round, floor, ceil, ln, log, exp, sin, cos, tan, min, max.
It also understands "15% of 80", "20% off 50" and "square root of 2"."""

FEW_SHOTS = """
Q: What is 3 * (4 + 5)?
Ask Func[calc]: 3 * (4 + 5)
Func[calc] says: 27
A: 27

Q: What is 2 + 2?
Ask Func[calc]: 2 + 2
Func[calc] says: 4
A: 4

Q: 2+2
Ask Func[calc]: 2+2
Func[calc] says: 4
A: 4

Q: 12 + 30
Ask Func[calc]: 12 + 30
Func[calc] says: 42
A: 42

Q: Calculate 2^10
Ask Func[calc]: 2^10
Func[calc] says: 1024
A: 1024

Q: How much is 7 times 8?
Ask Func[calc]: 7 times 8
Func[calc] says: 56
A: 56

Q: What is 15% of 80?
Ask Func[calc]: 15% of 80
Func[calc] says: 12
A: 12

Q: 20% off 50
Ask Func[calc]: 20% off 50
Func[calc] says: 40
A: 40

Q: What is half of 9?
Ask Func[calc]: half of 9
Func[calc] says: 4.5
A: 4.5

Q: Double 7
Ask Func[calc]: Double 7
Func[calc] says: 14
A: 14

Q: What is the square root of 2?
Ask Func[calc]: the square root of 2
Func[calc] says: 1.4142135623731
A: 1.4142135623731

Q: Square root of 81
Ask Func[calc]: Square root of 81
Func[calc] says: 9
A: 9

Q: What is 5 to the power of 3?
Ask Func[calc]: 5 to the power of 3
Func[calc] says: 125
A: 125

Q: Divide 100 by 8
Ask Func[calc]: Divide 100 by 8
Func[calc] says: 12.5
A: 12.5

Q: What is the remainder of 17 divided by 5?
Ask Func[calc]: 17 mod 5
Func[calc] says: 2
A: 2

Q: Factorial of 6
Ask Func[calc]: Factorial of 6
Func[calc] says: 720
A: 720

Q: What is 5 factorial?
Ask Func[calc]: 5 factorial
Func[calc] says: 120
A: 120

Q: 7!
Ask Func[calc]: 7!
Func[calc] says: 5040
A: 5040

Q: Solve -4 / 0.5 + 1
Ask Func[calc]: -4 / 0.5 + 1
Func[calc] says: -7
A: -7

Q: sqrt(81)
Ask Func[calc]: sqrt(81)
Func[calc] says: 9
A: 9

Q: Evaluate round(pi, 2)
Ask Func[calc]: round(pi, 2)
Func[calc] says: 3.14
A: 3.14
"""

# In this order; each is read ignoring case.
REWRITES = [
    (r"[?=\s.]+$|[$€£]|\bplease\b", ""),
    (r"^\W*(?:what(?:'s| is)|calculate|compute|evaluate|solve|work out|how much is|tell me)\b", ""),
    (r"\bthe\s+|\bresult of\s+|^\s*is\b", ""),
    (r"^\s*add (.+) (?:and|to) (.+)", r"(\1) + (\2)"),
    (r"^\s*subtract (.+) from (.+)", r"(\2) - (\1)"),
    (r"^\s*multiply (.+) (?:by|and|with) (.+)", r"(\1) * (\2)"),
    (r"^\s*divide (.+) by (.+)", r"(\1) / (\2)"),
    (r"square root", "sqrt"),
    (r"cube root", "cbrt"),
    (r"\bplus\b", "+"),
    (r"\bminus\b|\bnegative\b|[−–]", "-"),  # noqa: RUF001
    (r"\bmultiplied by\b|\btimes\b|(?<=[\d)])\s*x\s*(?=[\d(.])|[×·]", "*"),  # noqa: RUF001
    (r"\bdivided by\b|\bover\b|÷", "/"),
    (r"\b(?:raised )?to power(?: of)?\b|\braised to\b", "^"),
    (r"\bsquared\b|²", "^2"),
    (r"\bcubed\b|³", "^3"),
    (r"\bper ?cent\b", "%"),
    (r"\bmodulo\b", "mod"),
    (r"\bhalf(?: of)?\b", "0.5 *"),
    (r"\b(?:double|twice)\b", "2 *"),
    (r"(?<=\d) factorial", "!"),
    ("√", "sqrt "),
    ("π", "pi"),
]


def calc(call: Call) -> str:
    """The value of an expression, to 15 digits; whole numbers in full up to 40."""
    if len(call.text) > MAX_LENGTH:
        raise AgentError(f"That is too long for me: I read {MAX_LENGTH} characters.")
    try:
        return shown(evaluate(expression_in(call.text)))
    except ArithmeticTrouble as trouble:
        raise AgentError(str(trouble)) from trouble


def expression_in(text: str) -> str:
    """What a person wrote, in the parser's words: "7 times eight?" → "7 * 8"."""
    expression = with_digits(text.strip())
    for pattern, replacement in REWRITES:
        expression = re.sub(pattern, replacement, expression, flags=re.IGNORECASE)
    if not re.search(r"\b(?:round|log|min|max)\b", expression, re.IGNORECASE):  # their commas part values
        expression = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", expression)
    return expression


def shown(value: Decimal) -> str:
    """A number as a person writes it: no trailing zeros, powers of ten only where it is huge or tiny."""
    if value != value.to_integral_value() or value.adjusted() >= 40:
        value = Context(prec=15).plus(value)
    if not value:
        return "0"
    if -7 <= value.adjusted() < 40:
        text = f"{value:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa, _, exponent = f"{value.normalize():e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


AGENT = Agent("calculator", code_shot(BASE_PROMPT, FEW_SHOTS), {"calc": calc})

if __name__ == "__main__":
    main(AGENT, port=9002)
