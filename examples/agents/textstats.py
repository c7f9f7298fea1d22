"""A Code Shot agent that measures texts: `python -m examples.agents.textstats --port 9004`."""

import re
import unicodedata
from collections import Counter

from examples.agents.serving import Agent, AgentError, Call, code_shot, main

WORDS_PER_MINUTE = 230  # of an adult reading silently

BASE_PROMPT = """I measure texts. Every Func takes the text itself, exactly as the user wrote it:
words, characters, sentences, reading_time,
frequent (its most frequent words), longest (its longest word), reverse, summary (all figures at once)."""

FEW_SHOTS = """
Q: Count the words in: The quick brown fox
Ask Func[words]: The quick brown fox
Func[words] says: 4 words
A: 4 words

Q: How many words are in "Brevity is the soul of wit"?
Ask Func[words]: "Brevity is the soul of wit"
Func[words] says: 6 words
A: 6 words

Q: Word count: All that glitters
Ask Func[words]: All that glitters
Func[words] says: 3 words
A: 3 words

Q: Word count of: Beauty is truth
Ask Func[words]: Beauty is truth
Func[words] says: 3 words
A: 3 words

Q: Count the characters in: Hello brave new world
Ask Func[characters]: Hello brave new world
Func[characters] says: 21 characters, 18 without spaces
A: 21 characters, 18 without spaces

Q: How many characters are in "no man is an island"?
Ask Func[characters]: "no man is an island"
Func[characters] says: 19 characters, 15 without spaces
A: 19 characters, 15 without spaces

Q: How many letters are in "strawberry"?
Ask Func[characters]: "strawberry"
Func[characters] says: 10 characters
A: 10 characters

Q: How many sentences are in: It rained. We stayed.
Ask Func[sentences]: It rained. We stayed.
Func[sentences] says: 2 sentences
A: 2 sentences

Q: How long does it take to read: Once upon a time
Ask Func[reading_time]: Once upon a time
Func[reading_time] says: 1 second
A: 1 second

Q: Reading time of: Call me Ishmael
Ask Func[reading_time]: Call me Ishmael
Func[reading_time] says: 1 second
A: 1 second

Q: What is the most frequent word in: to be or not to be
Ask Func[frequent]: to be or not to be
Func[frequent] says: to (2), be (2)
A: to (2), be (2)

Q: What is the most common word in: never say never again
Ask Func[frequent]: never say never again
Func[frequent] says: never (2)
A: never (2)

Q: What is the longest word in: Sweet are the uses of adversity
Ask Func[longest]: Sweet are the uses of adversity
Func[longest] says: adversity
A: adversity

Q: Reverse: live on no evil
Ask Func[reverse]: live on no evil
Func[reverse] says: live on no evil
A: live on no evil

Q: Reverse the text: draw no dog
Ask Func[reverse]: draw no dog
Func[reverse] says: god on ward
A: god on ward

Q: Write "lager" backwards
Ask Func[reverse]: "lager"
Func[reverse] says: regal
A: regal

Q: Statistics for: Hope springs eternal.
Ask Func[summary]: Hope springs eternal.
Func[summary] says: 3 words, 21 characters, 19 without spaces, 1 sentence, 1 second to read
A: 3 words, 21 characters, 19 without spaces, 1 sentence, 1 second to read

Q: Analyze this text: Time will tell.
Ask Func[summary]: Time will tell.
Func[summary] says: 3 words, 15 characters, 13 without spaces, 1 sentence, 1 second to read
A: 3 words, 15 characters, 13 without spaces, 1 sentence, 1 second to read

Q: Analyze: Less is more.
Ask Func[summary]: Less is more.
Func[summary] says: 3 words, 13 characters, 11 without spaces, 1 sentence, 1 second to read
A: 3 words, 13 characters, 11 without spaces, 1 sentence, 1 second to read
"""

WORD = re.compile(r"\w+(?:['’-]\w+)*")  # noqa: RUF001
# The lookbehind keeps a text of nothing but full stops from being read once a full stop.
SENTENCE_END = re.compile(r"(?<![.!?…。！？])[.!?…。！？]++[\"'”’)]*+(?=\s|$)")  # noqa: RUF001
QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "«": "»"}  # noqa: RUF001


def text_in(call: Call) -> str:
    """The text that is meant: without the quotation marks around it. Raises AgentError where there is none."""
    text = call.text.strip()
    if len(text) > 1 and QUOTES.get(text[0]) == text[-1]:
        text = text[1:-1]
    if not text:
        raise AgentError("Which text? Write it after a colon.")
    return text


def words(call: Call) -> str:
    return counted(len(WORD.findall(text_in(call))), "word")


def characters(call: Call) -> str:
    """As people see them: an accent that is a character of its own belongs to its letter."""
    seen = letters(text_in(call))
    without = sum(not letter.isspace() for letter in seen)
    tail = f", {without} without spaces" if without < len(seen) else ""
    return counted(len(seen), "character") + tail


def sentences(call: Call) -> str:
    parts = SENTENCE_END.split(text_in(call))
    return counted(sum(bool(WORD.search(part)) for part in parts), "sentence")


def reading_time(call: Call) -> str:
    seconds = max(1, round(len(WORD.findall(text_in(call))) * 60 / WORDS_PER_MINUTE))
    minutes, seconds = divmod(seconds, 60)
    return " ".join(counted(value, name) for value, name in ((minutes, "minute"), (seconds, "second")) if value)


def frequent(call: Call) -> str:
    """The most frequent word, and those just as frequent (up to five), with how often they stand there."""
    ranking = Counter(word.lower() for word in WORD.findall(text_in(call))).most_common(5)
    if not ranking:
        raise AgentError("There are no words in that text.")
    return ", ".join(f"{word} ({count})" for word, count in ranking if count == ranking[0][1])


def longest(call: Call) -> str:
    return max(WORD.findall(text_in(call)), key=len, default="no word at all")


def reverse(call: Call) -> str:
    return "".join(reversed(letters(text_in(call))))


def summary(call: Call) -> str:
    return f"{words(call)}, {characters(call)}, {sentences(call)}, {reading_time(call)} to read"


def letters(text: str) -> list[str]:
    """The characters of `text`, each together with the combining marks and joiners that follow it."""
    found: list[str] = []
    for character in text:
        joined = unicodedata.combining(character) or character in "\u200d\ufe0f"
        if found and (joined or found[-1].endswith("\u200d")):
            found[-1] += character
        else:
            found.append(character)
    return found


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


FUNCS = {
    "words": words,
    "characters": characters,
    "sentences": sentences,
    "reading_time": reading_time,
    "frequent": frequent,
    "longest": longest,
    "reverse": reverse,
    "summary": summary,
}
AGENT = Agent("textstats", code_shot(BASE_PROMPT, FEW_SHOTS), FUNCS)

if __name__ == "__main__":
    main(AGENT, port=9004)
