"""A Code Shot agent that rolls dice: `python -m examples.agents.dice --port 9001`."""

import random
import re
import secrets

from examples.agents.serving import Agent, AgentError, Call, code_shot, main
from examples.agents.words import with_digits

MAX_SIDES = 1_000_000
MAX_COUNT = 100
SECRET = secrets.token_hex()

BASE_PROMPT = """I roll dice, flip coins and pick random numbers.
Func[roll] and Func[total] take the number of sides and the number of dice, for example "6 2" for two ordinary dice.
Func[flip] takes the number of coins, Func[pick] the smallest and the largest number."""

FEW_SHOTS = """
Q: Roll 3d8
Ask Func[roll]: 8 3
Func[roll] says: 5 3 8
A: 5 3 8

Q: Roll a d20
Ask Func[roll]: d20
Func[roll] says: 17
A: 17

Q: Roll 2 dice
Ask Func[roll]: 2 dice
Func[roll] says: 6 1
A: 6 1

Q: Roll a die
Ask Func[roll]: a die
Func[roll] says: 4
A: 4

Q: Throw the dice
Ask Func[roll]: the dice
Func[roll] says: 2 6
A: 2 6

Q: Roll two twenty-sided dice
Ask Func[roll]: two twenty-sided dice
Func[roll] says: 11 4
A: 11 4

Q: Roll 3d6 and add them up
Ask Func[total]: 6 3
Func[total] says: 4 + 2 + 6 = 12
A: 4 + 2 + 6 = 12

Q: Roll 2d6 and sum them
Ask Func[total]: 6 2
Func[total] says: 5 + 3 = 8
A: 5 + 3 = 8

Q: Add up 4d6
Ask Func[total]: 6 4
Func[total] says: 1 + 6 + 2 + 2 = 11
A: 1 + 6 + 2 + 2 = 11

Q: What is the sum of 2d10?
Ask Func[total]: 10 2
Func[total] says: 7 + 9 = 16
A: 7 + 9 = 16

Q: What is the total of three dice?
Ask Func[total]: three dice
Func[total] says: 1 + 5 + 2 = 8
A: 1 + 5 + 2 = 8

Q: Flip a coin
Ask Func[flip]: 1
Func[flip] says: heads
A: It is heads.

Q: Heads or tails?
Ask Func[flip]: 1
Func[flip] says: tails
A: It is tails.

Q: Flip 3 coins
Ask Func[flip]: 3
Func[flip] says: heads tails heads
A: heads tails heads

Q: Toss a coin 5 times
Ask Func[flip]: 5
Func[flip] says: tails tails heads tails heads
A: tails tails heads tails heads

Q: Pick a number between 1 and 100
Ask Func[pick]: 1 100
Func[pick] says: 42
A: 42

Q: Give me a random number from 10 to 20
Ask Func[pick]: 10 20
Func[pick] says: 13
A: 13
"""


def roll(call: Call) -> str:
    """ "8 3" (sides, then how many), "3d8", "3 dice", "two twenty-sided dice" → "5 3 8"."""
    return " ".join(map(str, thrown(call)))


def total(call: Call) -> str:
    """The same dice, added up: "5 + 3 + 8 = 16"."""
    dice = thrown(call)
    return f"{' + '.join(map(str, dice))} = {sum(dice)}" if len(dice) > 1 else str(dice[0])


def flip(call: Call) -> str:
    """ "3" or "three coins" → "heads tails heads"; one coin where no number is said."""
    count = checked(numbers(call.text)[0] if numbers(call.text) else 1, MAX_COUNT, "coins")
    return " ".join(chance(call).choices(("heads", "tails"), k=count))


def pick(call: Call) -> str:
    """ "1 100" → a whole number from 1 to 100, both included."""
    match numbers(call.text):
        case [low, high]:
            return str(chance(call).randint(min(low, high), max(low, high)))
        case _:
            raise AgentError('Between which two numbers? For example "1 100".')


def thrown(call: Call) -> list[int]:
    sides, count = dice_in(with_digits(call.text).lower())
    sides, count = checked(sides, MAX_SIDES, "sides"), checked(count, MAX_COUNT, "dice")
    return chance(call).choices(range(1, sides + 1), k=count)


def dice_in(text: str) -> tuple[int, int]:
    """Sides and number of the dice that `text` asks for. Raises AgentError."""
    if match := re.search(r"(\d{0,9}) ?d ?(\d{1,9})(?!\d)", text):  # 3d8, d20
        return int(match[2]), int(match[1] or 1)
    if match := re.search(r"(?:(\d{1,9}) )?(\d{1,9})[- ]sided", text):  # two 20-sided dice
        return int(match[2]), int(match[1] or 1)
    if match := re.search(r"(\d{1,9}) (?:die|dice)\b", text):
        return 6, int(match[1])
    match numbers(text):
        case [sides, count]:
            return sides, count
        case [sides]:
            return sides, 1
        case [] if "dice" in text:
            return 6, 2
        case [] if "die" in text or not text.strip():
            return 6, 1
    raise AgentError('Which dice? Say the sides and how many, "8 3", or "3d8".')


def numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"(?<!\d)-?\d{1,18}", with_digits(text))]


def checked(value: int, most: int, of_what: str) -> int:
    if not 1 <= value <= most:
        raise AgentError(f"I can do 1 to {most} {of_what}, not {value}.")
    return value


def chance(call: Call) -> random.Random:
    """The platform repeats a call with the same key when it cannot know whether the first one arrived; seeded
    with it, the dice fall the same way, and nothing has to be remembered."""
    return random.Random(f"{SECRET}/{call.idempotency_key or secrets.token_hex()}")  # noqa: S311 (not for secrets)


FUNCS = {"roll": roll, "total": total, "flip": flip, "pick": pick}
AGENT = Agent("dice", code_shot(BASE_PROMPT, FEW_SHOTS), FUNCS)

if __name__ == "__main__":
    main(AGENT, port=9001)
