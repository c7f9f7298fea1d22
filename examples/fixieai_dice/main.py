"""A Code Shot agent written with the published package `fixieai`: Funcs, User Storage, and Embeds in and out."""

import io
import random
import re

import fixieai
from PIL import Image, ImageDraw

BASE_PROMPT = """I roll dice and remember the last roll of each user.
Func[roll] takes dice like "3d8". Func[last] says the last roll again, Func[draw] draws it as a picture.
Func[total] adds up the numbers of the text files it is given."""

FEW_SHOTS = """
Q: Roll 3d8
Ask Func[roll]: 3d8
Func[roll] says: 5 3 8
A: 5 3 8

Q: Throw 2d6 for me
Ask Func[roll]: 2d6
Func[roll] says: 6 1
A: 6 1

Q: What did I roll last?
Ask Func[last]: my last roll
Func[last] says: 5 3 8
A: Your last roll was 5 3 8.

Q: Draw my last roll
Ask Func[draw]: my last roll
Func[draw] says: 5 3 8, drawn: #dice
A: 5 3 8, drawn: #dice

Q: Add up the numbers in #numbers
Ask Func[total]: #numbers
Func[total] says: 12 + 30 = 42
A: 12 + 30 = 42
"""

DOTS = {1: "4", 2: "08", 3: "048", 4: "0268", 5: "02468", 6: "023568"}
SIDE = 60

agent = fixieai.CodeShotAgent(BASE_PROMPT, FEW_SHOTS)


@agent.register_func
def roll(query: fixieai.Message, user_storage: fixieai.UserStorage) -> str:
    match = re.search(r"(\d{1,2})d(\d{1,4})", query.text)
    if match is None or 0 in (int(match[1]), int(match[2])):
        return 'Which dice? For example "3d8": up to 99 dice of up to 9999 sides.'
    dice = [random.randint(1, int(match[2])) for _ in range(int(match[1]))]  # noqa: S311 (not for secrets)
    user_storage["last"] = dice
    return " ".join(map(str, dice))


@agent.register_func
def last(user_storage: fixieai.UserStorage) -> str:
    return " ".join(map(str, user_storage.get("last", []))) or "You have not rolled yet."


@agent.register_func
def draw(user_storage: fixieai.UserStorage) -> fixieai.Message:
    dice = user_storage.get("last", [])
    if not dice:
        return fixieai.Message("There is nothing to draw yet: roll first.")
    picture = fixieai.Embed("image/png", "")
    picture.content = png_of(dice)
    return fixieai.Message(f"{' '.join(map(str, dice))}, drawn: #dice", {"dice": picture})


@agent.register_func
def total(query: fixieai.Message) -> str:
    numbers = [int(number) for embed in query.embeds.values() for number in re.findall(r"-?\d+", embed.text)]
    return f"{' + '.join(map(str, numbers))} = {sum(numbers)}" if numbers else "I see no numbers there."


def png_of(dice: list[int]) -> bytes:
    """The dice in a row; one of more than six sides shows its number."""
    picture = Image.new("RGB", (SIDE * len(dice), SIDE), "white")
    pen = ImageDraw.Draw(picture)
    for place, number in enumerate(dice):
        left = place * SIDE
        pen.rectangle((left + 3, 3, left + SIDE - 4, SIDE - 4), outline="black", width=2)
        for dot in DOTS.get(number, ""):
            x, y = left + 15 * (int(dot) % 3 + 1), 15 * (int(dot) // 3 + 1)
            pen.ellipse((x - 4, y - 4, x + 4, y + 4), fill="black")
        if number not in DOTS:
            pen.text((left + SIDE // 3, SIDE // 3), str(number), fill="black")
    data = io.BytesIO()
    picture.save(data, "PNG")
    return data.getvalue()
