"""The manifests: every few-shot is true, and a site without a language model can follow them."""

import re
from typing import Any

import pytest

from examples.agents.__main__ import AGENTS
from sessions_app.llm.base import Prompt
from sessions_app.llm.follower import follow

SHOTS = [(handle, shot) for handle, agent in AGENTS.items() for shot in agent.manifest.get("few_shots", [])]
FORM = re.compile(r"Q: (.+)\nAsk Func\[(\w+)\]: (.+)\nFunc\[\2\] says: (.+)\nA: (.+)")

FOLLOWED = {
    "dice": {
        "roll 4d20": r"\d+ \d+ \d+ \d+",
        "roll two dice": r"[1-6] [1-6]",
        "can you roll a d6 for me?": r"[1-6]",
        "roll a 12-sided die": r"\d+",
        "flip a coin please": r"heads|tails",
        "toss a coin 4 times": r"((heads|tails) ?){4}",
        "pick a number between 5 and 6": r"5|6",
        "what is the sum of 2d1000?": r"\d+ \+ \d+ = \d+",
        "Roll 500d6": r"I can do 1 to 100 dice, not 500\.",
    },
    "calculator": {
        "what is 17 + 4?": "21",
        "2+2": "4",
        "(1 + 2) * (3 + 4)": "21",
        "what is 20% of 250?": "50",
        "30% off 80": "56",
        "what is the square root of 144?": "12",
        "what is 3 to the power of 4?": "81",
        "multiply 6 by 7": "42",
        "what is seven times eight": "56",
        "cos(0)": "1",
        "1/0": r"I cannot divide by zero\.",
    },
    "units": {
        "convert 5 feet to meters": "5 feet = 1.524 meters",
        "how far is 10 km in miles?": "10 kilometers = 6.21371 miles",
        "how many ounces are in 3 pounds": "3 pounds = 48 ounces",
        "how many minutes are in a week?": "1 week = 10080 minutes",
        "what is 72 F in C?": "72 °F = 22.2222 °C",
        "how tall is 6 feet 2 inches in cm?": "6 feet 2 inches = 187.96 centimeters",
        "convert half a mile to meters": "0.5 miles = 804.672 meters",
        "convert 3 furlongs to km": "I do not know the unit “furlongs”.",
    },
    "textstats": {
        "Count the words in: to be or not to be": "6 words",
        'how many characters are in "hello"?': "5 characters",
        "how many sentences are in: Hi. How are you? Fine!": "3 sentences",
        "what is the longest word in: I love encyclopedias": "encyclopedias",
        "most frequent word in: the cat and the dog": r"the \(2\)",
        "reverse: hello world": "dlrow olleh",
        "analyze: One two. Three four five.": "5 words, .*, 2 sentences, 1 second to read",
    },
}


@pytest.mark.parametrize(("handle", "query"), [(handle, query) for handle in FOLLOWED for query in FOLLOWED[handle]])
def test_the_follower_answers_what_people_ask(client: Any, handle: str, query: str) -> None:
    shots, lines = tuple(AGENTS[handle].manifest["few_shots"]), []
    while match := re.fullmatch(
        r"Ask Func\[(\w+)\]: (.+)", written := follow(Prompt("", shots, query, (), tuple(lines)))
    ):
        said = client(handle).call(f"/{handle}/{match[1]}", match[2]).text
        lines += [written, f"Func[{match[1]}] says: {said}"]
    assert re.fullmatch(rf"A: (It is )?({FOLLOWED[handle][query]})\.?", written)


@pytest.mark.parametrize(("handle", "shot"), SHOTS)
def test_a_few_shot_shows_what_really_happens(client: Any, handle: str, shot: str) -> None:
    match = FORM.fullmatch(shot)
    assert match is not None
    _, func, argument, output, answer = match.groups()
    told = client(handle).call(f"/{handle}/{func}", argument).text
    if handle == "dice":
        assert len(told.split()) == len(output.split())
    else:
        assert told == output
    assert output in answer


@pytest.mark.parametrize("handle", [handle for handle, agent in AGENTS.items() if agent.funcs])
def test_every_func_is_shown_and_named(handle: str) -> None:
    manifest = AGENTS[handle].manifest
    for func in AGENTS[handle].funcs:
        assert any(f"Ask Func[{func}]: " in shot for shot in manifest["few_shots"])
        assert re.search(rf"\b{func}\b", manifest["base_prompt"])
