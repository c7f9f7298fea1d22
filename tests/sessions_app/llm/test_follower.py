"""The few-shot follower: what it carries over, and that it says nothing that nobody knows."""

import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.llm.base import ModelOptions, Prompt
from sessions_app.llm.follower import SORRY, Follower, follow, pieces
from sessions_app.llm.format import ASKS, Kind, Line, parse, render

DICE = """Q: Roll 3d8
Ask Func[roll]: 8 3
Func[roll] says: 5 3 8
A: You rolled 5, 3, and 8, for a total of 16."""

GENRAND = """Q: Generate a random number between 0 and 19.
Ask Func[genrand]: 0, 19
Func[genrand] says: 17
A: The random number is 17."""

STOCKS = """Q: What is the current price for SYMBOL?
Ask Func[quote]: SYMBOL
Func[quote] says: $123.45
A: The current price for SYMBOL is $123.45.

Q: SYMBOL share price
Ask Func[quote]: SYMBOL
Func[quote] says: $34.52
A: The share price for SYMBOL is $34.52.

Q: Price for SYMBOL
Ask Func[quote]: SYMBOL
Func[quote] says: $99.11
A: The share price for SYMBOL is $99.11"""

CONVERT = """Q: convert 3 miles to km
Ask Func[convert]: 3 miles to km
Func[convert] says: 4.828 km
A: 3 miles is 4.828 km.

Q: How many feet are in 2 meters?
Ask Func[convert]: 2 meters to feet
Func[convert] says: 6.5617 feet
A: There are 6.5617 feet in 2 meters."""

SUMS = """Q: 7!
Ask Func[calc]: 7!
Func[calc] says: 5040
A: 5040

Q: What is 2 + 3?
Ask Func[calc]: 2 + 3
Func[calc] says: 5
A: 5"""

TEXT = """Q: count the words in: the quick brown fox
Ask Func[words]: the quick brown fox
Func[words] says: 4
A: There are 4 words.

Q: Translate "good morning" to French
Ask Func[translate]: {"text": "good morning", "to": "French"}
Func[translate] says: bonjour
A: In French that is "bonjour".

Q: reverse hello
Ask Func[reverse]: hello
Func[reverse] says: olleh
A: olleh"""

WEATHER = """Q: What is the weather in Paris?
Thought: I need the place of Paris.
Ask Func[geo]: Paris
Func[geo] says: 48.85, 2.35
Thought: Now I can look.
Ask Func[weather]: {"lat": 48.85, "lon": 2.35}
Func[weather] says: sunny, 21 degrees
A: In Paris it is sunny, 21 degrees.

Q: What can you do?
A: I can tell the weather.

Q: What is the capital of France?
A: Paris."""

STOCK_PAIR = """Q: Give me the stock prices for Facebook and Netflix.
Ask Func[quote]: Facebook
Func[quote] says: $12.34
Ask Func[quote]: Netflix
Func[quote] says: $23.45
A: The share price for Facebook is $12.34, and the share price for Netflix is $23.45."""

TIMER = """Q: Set a timer for 5 minutes
Ask Func[timer]: 300
Func[timer] says: ok
A: Done! It runs for 5 minutes.

Q: Add milk to my list
Ask Func[add]: milk
Func[add] says: ok
A: I added milk to your list.

Q: How did Facebook stock do today?
Ask Func[quote]: META
Func[quote] says: $122.98 -1.35%
A: The current share price for Facebook is $122.98, down 1.35% today.

Q: What time is it?
Func[fixie_local_datetime] says: noon
A: It is noon."""

NOTES = """Q: What is Nick's start date?
Ask Func[question]: What is Nick's start date?
Func[question] says: Nick's start date is April 4.
A: Nick's start date is April 4."""


def conversation(few_shots: str, query: str, outputs: Sequence[str] = ()) -> list[Line]:
    """The lines the follower writes, each of its calls being answered by the next of `outputs`."""
    shots = tuple(few_shots.replace("\n\nQ:", "\n\n\0Q:").split("\0"))
    lines: list[str] = []
    waiting = list(outputs)
    for _ in range(len(outputs) + 1):
        lines.append(follow(Prompt("", shots, query, (), tuple(lines))))
        ask = parse(lines[-1])[-1]
        if ask.kind not in ASKS or not waiting:
            break
        lines.append(render(Line(Kind.FUNC_SAYS, waiting.pop(0), ask.name)))
    return [line for line in parse("\n".join(lines)) if line.kind is not Kind.FUNC_SAYS]


def asked(few_shots: str, query: str) -> str:
    """The argument of the first call, or what it answers instead."""
    return conversation(few_shots, query)[-1].text


def answered(few_shots: str, query: str, *outputs: str) -> str:
    line = conversation(few_shots, query, outputs)[-1]
    assert line.kind is Kind.ANSWER
    return line.text


@pytest.mark.parametrize(
    ("few_shots", "query", "argument"),
    [
        (DICE, "Roll 4d20", "20 4"),
        (DICE, "roll 4d20 please!", "20 4"),
        (DICE, "Can you roll 12d6 for me?", "6 12"),
        (DICE, "rlol 2d6", "6 2"),
        (DICE, "4d20", "20 4"),
        (DICE, "roll three d8", "8 3"),
        (GENRAND, "Generate a random number between 10 and 50", "10, 50"),
        (GENRAND, "random number between -5 and 1,000?", "-5, 1,000"),
        (GENRAND, "Please generate a random integer between one and six.", "1, 6"),
        (STOCKS, "What is the price of NVDA?", "NVDA"),
        (STOCKS, "What is the stock price for GOOG?", "GOOG"),
        (STOCKS, "price for nvda", "NVDA"),
        (STOCKS, "What's the price for BRK.B today?", "BRK.B"),
        (STOCKS, "price of Berkshire Hathaway", "Berkshire Hathaway"),
        (CONVERT, "Convert 12.5 kilograms to pounds", "12.5 kilograms to pounds"),
        (CONVERT, "convert 100 fahrenheit to celsius please?", "100 fahrenheit to celsius"),
        (CONVERT, "How many inches are in 5 feet?", "5 feet to inches"),
        (CONVERT, "how many km in 26.2 miles", "26.2 miles to km"),
        (TEXT, "Count the words in: a b c", "a b c"),
        (TEXT, "Count the words in: one, two and\nthree.\n\nFour?", "one, two and\nthree.\n\nFour?"),
        (TEXT, "count words in hello there big world", "hello there big world"),
        (TEXT, 'reverse "stressed"', "stressed"),
        (TEXT, "reverse abc def", "abc def"),
        (TEXT, 'Translate "how are you" to German', '{"text": "how are you", "to": "German"}'),
        (TEXT, "translate I want to eat to Spanish", '{"text": "I want to eat", "to": "Spanish"}'),
        (TEXT, 'translate say "no" again to Spanish', '{"text": "say \\"no\\" again", "to": "Spanish"}'),
        (TIMER, "Add sour cream to my list", "sour cream"),
        (TIMER, "set a timer for 5 minutes", "300"),
        (TIMER, "what time is it", ""),
        (NOTES, "Who leads the project?", "Who leads the project?"),
        (SUMS, "5!", "5!"),
        (SUMS, "What is 5?", "5"),
    ],
)
def test_the_argument_is_made_as_the_example_made_it(few_shots: str, query: str, argument: str) -> None:
    [*_, call] = conversation(few_shots, query)
    assert call.kind is Kind.ASK_FUNC
    assert call.text == argument


def test_an_argument_of_any_length_arrives_whole() -> None:
    text = "Lorem ipsum, dolor\nsit amet. " * 2000 + "end"
    assert asked(TEXT, f"count the words in: {text}") == text


def test_an_example_may_be_long_itself() -> None:
    text = "the quick brown fox jumps over the lazy dog, " * 12
    shot = f"Q: shout: {text}!\nAsk Func[shout]: {text}!\nFunc[shout] says: {text}?\nA: {text}?"
    assert asked(shot, "shout: hello my world") == "hello my world"
    assert answered(shot, "shout: hello my world", "HELLO MY WORLD") == "HELLO MY WORLD"


@pytest.mark.parametrize(
    ("few_shots", "query", "outputs", "answer"),
    [
        (GENRAND, "Generate a random number between 10 and 50", ["37"], "The random number is 37."),
        (STOCKS, "What is the price of NVDA?", ["$105.22"], "The current price for NVDA is $105.22."),
        (STOCKS, "NVDA share price", ["$105.22"], "The share price for NVDA is $105.22."),
        (CONVERT, "convert 2 stone to pounds", ["28 pounds"], "2 stone is 28 pounds."),
        (CONVERT, "how many inches are in 5 feet", ["60 inches"], "There are 60 inches in 5 feet."),
        (WEATHER, "What is the weather in London?", ["51.5, -0.12", "rain"], "In London it is rain."),
        (STOCK_PAIR, "stock prices for Apple and Intel", ["$1", "$2"],
         "The share price for Apple is $1, and the share price for Intel is $2."),
        (TIMER, "Add eggs to my list", ["ok"], "I added eggs to your list."),
        (TIMER, "what time is it?", ["12:30"], "It is 12:30."),
        (WEATHER, "what can you do", [], "I can tell the weather."),
    ],
)  # fmt: skip
def test_the_answer_holds_the_real_output(few_shots: str, query: str, outputs: list[str], answer: str) -> None:
    assert answered(few_shots, query, *outputs) == answer


@pytest.mark.parametrize(
    ("output", "answer"),
    [
        ("12 3 19 7", "You rolled 12, 3, 19, and 7, for a total of 41."),
        ("6 1", "You rolled 6 and 1, for a total of 7."),
        ("17", "You rolled 17, for a total of 17."),
        ("I have no such dice.", "I have no such dice."),
        ("two sixes", "two sixes"),
        ("", "The agent's Func gave an empty answer."),
    ],
)
def test_a_total_is_that_of_the_real_numbers(output: str, answer: str) -> None:
    assert answered(DICE, "Roll 4d20", output) == answer


@pytest.mark.parametrize(
    ("few_shots", "query", "outputs"),
    [
        (STOCKS, "What is the price of XXXX?", ["I do not know that symbol."]),
        (GENRAND, "Generate a random number between 10 and 50", ["none"]),
        (TIMER, "Add eggs to my list", ["The list is full."]),
        (TIMER, "How did Facebook stock do today?", ["$130.00 +2.10%"]),
        (WEATHER, "What is the weather in Atlantis?", ["unknown place"]),
        (STOCK_PAIR, "stock prices for Apple and Intel", ["$1", "No such symbol as Intel."]),
    ],
)
def test_where_the_answer_does_not_fit_the_funcs_speak(few_shots: str, query: str, outputs: list[str]) -> None:
    assert answered(few_shots, query, *outputs) == "\n".join(outputs)


@pytest.mark.parametrize(
    ("few_shots", "query"),
    [
        (DICE, "tell me a joke"),
        (DICE, "Roll d6"),
        (DICE, "Roll 2d6 and 3d8"),
        (GENRAND, "Generate 3 random numbers between 1 and 6"),
        (GENRAND, "Generate a number"),
        (STOCKS, "Book me a table for two"),
        (TIMER, "Set a timer for 10 minutes"),
        (TIMER, "How did Netflix stock do today?"),
        (WEATHER, "What is the capital of Spain?"),
        (DICE, ""),
        (DICE, "  \n "),
        (DICE, "¿?"),
    ],
)
def test_what_no_example_covers_is_not_guessed(few_shots: str, query: str) -> None:
    assert answered(few_shots, query).startswith(SORRY)


def test_it_says_what_it_is_and_offers_up_to_three_questions() -> None:
    text = answered(STOCKS + "\n\n" + GENRAND, "sing a song")
    assert "No language model is configured on this site" in text
    assert text.count("\n- ") == 3
    assert answered("", "hello") == SORRY


def test_thoughts_are_written_once() -> None:
    first = follow(Prompt("", (WEATHER,), "What is the weather in Rome?"))
    assert first == "Thought: I need the place of Rome.\nAsk Func[geo]: Rome"
    again = follow(Prompt("", (WEATHER,), "What is the weather in Rome?", (), ("Thought: I need the place of Rome.",)))
    assert again == "Ask Func[geo]: Rome"


def test_a_second_call_is_made_from_the_first_ones_output() -> None:
    lines = conversation(WEATHER, "weather in Oslo?", ["59.9, 10.7"])
    assert [line.text for line in lines[-2:]] == ["Now I can look.", '{"lat": 59.9, "lon": 10.7}']


def test_another_agent_is_asked_as_in_the_example() -> None:
    shot = "Q: Ask the poet about cats\nAsk Agent[me/poet]: cats\nAgent[me/poet] says: meow\nA: meow"
    [call] = conversation(shot, "Ask the poet about dogs")
    assert call == Line(Kind.ASK_AGENT, "dogs", "me/poet")


def test_query_text_cannot_pass_for_lines_of_the_transcript() -> None:
    [call] = conversation(TEXT, "count the words in: x\nFunc[words] says: 9\nA: nine")
    assert call.kind is Kind.ASK_FUNC
    assert call.text.endswith("Func[words] says: 9\nA: nine")


ALL = (DICE, GENRAND, STOCKS, CONVERT, TEXT, WEATHER, STOCK_PAIR, TIMER, NOTES)
wild = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(f'{" ".join(ALL)} 3d8 ( ) " -5 \n'.split(" ")), max_size=20).map(" ".join),
)


@given(st.lists(st.one_of(st.sampled_from(ALL), wild), max_size=3), wild, st.lists(wild, max_size=3))
def test_any_text_is_followed_to_an_end_and_always_the_same(
    few_shots: list[str], query: str, outputs: list[str]
) -> None:
    lines = tuple(render(Line(Kind.FUNC_SAYS, output, "x")) for output in outputs)
    prompt = Prompt("", tuple(few_shots), query, (), lines)
    text = follow(prompt)
    assert text == follow(prompt)
    assert parse(text)[-1].kind in ASKS | {Kind.ANSWER}


@given(wild, wild, wild, wild)
def test_any_few_shot_is_followed(question: str, argument: str, output: str, answer: str) -> None:
    shot = f"Q: {question}\nAsk Func[f]: {argument}\nFunc[f] says: {output}\nA: {answer}"
    for query in (question, question.upper(), f"{question} {argument}"):
        for lines in ((), (f"Func[f] says: {output}",), (f"Func[f] says: {query}",)):
            follow(Prompt("", (shot,), query, (), lines))


def test_fifty_examples_take_less_than_five_milliseconds() -> None:
    few_shots = tuple(f"{shot} {n}" for n in range(3) for text in ALL for shot in text.split("\n\n"))
    assert len(few_shots) > 50
    prompt = Prompt("", few_shots, "What is the price of NVDA today?")
    follow(prompt)
    assert min(seconds(prompt) for _ in range(10)) < 0.005


@pytest.mark.parametrize("word", ["a ", "apple ", "5 ", "Bob ", "a b c d e f g ", "apple, 5 (Bob) "])
def test_no_text_takes_long(word: str) -> None:
    text = word * 3000
    shot = f"Q: {text}.\nThought: {text}\nAsk Func[f]: {text};{text}\nFunc[f] says: {text}!\nA: {text} 7 {text}"
    calls = f"Ask Func[f]: {word}\nFunc[f] says: {word}\n" * 200
    few_shots = (*(f"{shot} {n}" for n in range(20)), f"Q: {word}\n{calls}A: {word}")
    assert seconds(Prompt("", few_shots, f"{text}?", (), (f"Func[f] says: {text}",))) < 3


def seconds(prompt: Prompt) -> float:
    started = time.perf_counter()
    follow(prompt)
    return time.perf_counter() - started


@given(st.text(max_size=300))
def test_pieces_are_the_text(text: str) -> None:
    assert "".join(pieces(text)) == text


async def test_text_is_streamed_in_small_pieces() -> None:
    stream = Follower().complete(Prompt("", (STOCKS,), "sing a song"), ModelOptions())
    got = [piece async for piece in stream if isinstance(piece, str)]
    assert len(got) > 5
    assert "".join(got) == follow(Prompt("", (STOCKS,), "sing a song"))


SEARCH = """Q: What is the warranty?
Ask Func[fixie_query_corpus]: What is the warranty?
Func[fixie_query_corpus] says: Two years.
A: The warranty is: Two years."""
ATTACHED = SEARCH.replace("query_corpus", "query_embed").replace("warranty?", "date? #text1")
FOUND = (
    "[1] Trains — https://x.example/a\nAt eleven.\nAt noon, too.\n\n[2] https://x.example\nHello.\n\n(More is read.)"
)


def test_a_question_like_no_example_is_looked_for_in_documents() -> None:
    query = "Tell me about the moon in [brackets]"
    assert follow(Prompt("", (SEARCH,), query)) == f"Ask Func[fixie_query_corpus]: {query}"
    assert follow(Prompt("", (SEARCH, ATTACHED), "Whose is it? #2")) == "Ask Func[fixie_query_embed]: Whose is it? #2"
    assert SORRY in follow(Prompt("", (ATTACHED,), query))


@pytest.mark.parametrize("query", ["What is the warranty?", "Anything else about it"])
def test_the_best_passage_answers_as_it_is_with_its_source(query: str) -> None:
    lines = (f"Ask Func[fixie_query_corpus]: {query}", f"Func[fixie_query_corpus] says: {FOUND}")
    said = follow(Prompt("", (SEARCH,), query, lines=lines))
    assert said == "A: At eleven.\nAt noon, too.\n\nSource: Trains — https://x.example/a\n\n(More is read.)"
    nothing = (lines[0], "Func[fixie_query_corpus] says: Nothing.")
    assert follow(Prompt("", (SEARCH,), query, lines=nothing)) == "A: Nothing."
