"""The few-shot follower: an honest stand-in for a language model that only carries an agent's examples over."""

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from sessions_app.llm.base import LanguageModel, ModelOptions, Prompt, Usage
from sessions_app.llm.following.examples import Call, Entry, Example, Library, analysed, library
from sessions_app.llm.following.patterns import Fit
from sessions_app.llm.following.recipes import Bound, Recipe, content_of
from sessions_app.llm.following.words import Token, Type, tokens
from sessions_app.llm.format import REPLIES, Kind, Line, funcs_named, parse, render
from sessions_app.llm.passages import best_of, is_search

# Below this similarity (0 to 1) an example says nothing about a query.
NEAR = 0.37
# An example without a call answers nothing but its own question.
SAME = 0.85
# So many examples with the most words in common are aligned with the query.
ALIGNED = 8
FOLLOWUP_FACTOR = 0.9
SAMPLES, SAMPLE_LENGTH = 3, 150
PIECE_LENGTH, MOST_PIECES = 16, 400

SORRY = (
    "No language model is configured on this site, so I can only follow this agent's examples, "
    "and none of them is close enough to your question."
)


class Follower(LanguageModel):
    """Needs no network and counts no tokens. The same prompt always gets the same text."""

    is_general: ClassVar[bool] = False

    async def complete(self, prompt: Prompt, options: ModelOptions) -> AsyncGenerator[str | Usage]:
        for piece in pieces(follow(prompt)):
            yield piece
            await asyncio.sleep(0)


def pieces(text: str) -> list[str]:
    """`text` in pieces of about a word or two; larger ones where it is very long."""
    length = max(PIECE_LENGTH, len(text) // MOST_PIECES)
    return re.findall(rf".{{1,{length}}}(?:\s+|$)|.{{1,{length}}}", text, re.DOTALL)


def follow(prompt: Prompt) -> str:
    """The next lines of the transcript: up to the next `Ask`, or the answer. Pure, and never raises."""
    examples = library(prompt.few_shots)
    lines = parse("\n".join(prompt.lines))
    outputs = [best_of(line.text) if is_search(line.name) else line.text for line in lines if line.kind in REPLIES]
    choice = choose(examples, prompt.query)
    if choice is None:
        if not outputs and (search := _search(prompt)):
            return render(Line(Kind.ASK_FUNC, prompt.query, search))
        return render(Line(Kind.ANSWER, outputs[-1] if outputs else _sorry(examples, prompt.query)))
    has_thought = bool(lines) and lines[-1].kind is Kind.THOUGHT
    return "\n".join(map(render, _Following(choice, outputs).next_lines(with_thoughts=not has_thought)))


@dataclass(frozen=True, slots=True)
class Choice:
    """The example that a query is like, and how it fits."""

    example: Example
    query: str
    tokens: list[Token]
    fit: Fit


def choose(examples: Library, query: str) -> Choice | None:
    """The example nearest to `query` whose calls can be made for it; None where none is near."""
    found = tokens(query)
    best: Choice | None = None
    best_rank = (0.0, 0.0)
    for entry in _candidates(examples, found):
        example = analysed(entry.shot)
        fit = example.patterns[0].fit(found, examples.vocabulary)
        similarity = fit.similarity * (FOLLOWUP_FACTOR if entry.is_followup else 1.0)
        if (similarity, fit.matched) > best_rank and _is_usable(example, fit, found):
            best, best_rank = Choice(example, query, found, fit), (similarity, fit.matched)
    return best


def _candidates(examples: Library, found: list[Token]) -> list[Entry]:
    """The examples with the most words in common with the query, the shorter ones first."""
    keys = set(examples.vocabulary.keys(found))

    def distance(entry: Entry) -> float:
        return sum(-weight if key in keys else 0.1 * weight for key, weight in entry.words.items())

    return sorted(examples.entries, key=distance)[:ALIGNED]


def _is_usable(example: Example, fit: Fit, found: list[Token]) -> bool:
    """Whether nothing of what the query asks would be lost or made up by following the example."""
    if not example.calls:
        return fit.similarity >= SAME and not content_of(fit.unexplained) and not content_of(fit.skipped)
    if fit.similarity < NEAR or not _has_common_ground(example, fit, found):
        return False
    if any(fit.captures[slot] is None for slot in example.required):
        return False
    if any(token.type is Type.NUMBER for token in (*fit.unexplained, *fit.skipped)):
        return False
    return _carries_all(example, fit, found) and not _means_another_thing(example, fit)


def _has_common_ground(example: Example, fit: Fit, found: list[Token]) -> bool:
    """A telling word in common; or the example has none, or the query is nothing but numbers (`2 + 2`)."""
    if fit.common or not content_of(example.patterns[0].anchors):
        return True
    return all(token.type is Type.NUMBER for token in content_of(found))


def _carries_all(example: Example, fit: Fit, found: list[Token]) -> bool:
    """Where the example has a number in a slot, the query has one too; what no call uses is as in the example."""
    for number, (slot, capture) in enumerate(zip(example.patterns[0].slots, fit.captures, strict=True)):
        held = found[capture[0] : capture[1]] if capture else []
        numeric = any(token.type is Type.NUMBER or token.key in ("a", "an") for token in held)
        if held and slot.has_number and not numeric:
            return False
        if number not in example.required and [token.key for token in held] != [t.key for t in slot.tokens]:
            return False
    return True


def _means_another_thing(example: Example, fit: Fit) -> bool:
    """The query has a name, or any telling word where the call is always the same, in another's place."""
    for text, skipped in fit.replaced:
        ours, theirs = content_of(text), content_of(skipped)
        if ours and theirs and (not example.required or any(token.is_name for token in ours + theirs)):
            return True
    return False


class _Following:
    """Goes through the chosen example with the query and the outputs there are so far."""

    def __init__(self, choice: Choice, outputs: Sequence[str]) -> None:
        self._example = example = choice.example
        self._query = choice.query
        self._outputs = list(outputs)
        query = Bound(choice.query, choice.tokens, example.patterns[0].slots, choice.fit)
        known = self._outputs[: len(example.calls)]
        self._sources = [query, *(self._bound(at, text) for at, text in enumerate(known, start=1))]

    def _bound(self, source: int, output: str) -> Bound:
        """An output that is not made exactly like the example's has nothing in the slots."""
        pattern, found = self._example.patterns[source], tokens(output)
        fit = pattern.fit(found, self._example.vocabularies[source])
        alike = not content_of(fit.unexplained) and not content_of(fit.skipped)
        return Bound(output, found, pattern.slots, fit if alike else None)

    def next_lines(self, *, with_thoughts: bool) -> list[Line]:
        done, calls = len(self._outputs), self._example.calls
        thoughts = calls[done].thoughts if done < len(calls) else self._example.thoughts
        lines = self._thoughts(thoughts) if with_thoughts else []
        if done >= len(calls):
            return [*lines, self._answer()]
        call = calls[done]
        argument = self._argument(call)
        if argument is None:
            return [self._answer()]
        return [*lines, Line(call.ask.kind, argument, call.ask.name)]

    def _argument(self, call: Call) -> str | None:
        if is_search(call.ask.name) and call.ask.text == self._example.shot.question:
            return self._query  # Every word of it helps the search, those too that the example's question lacks.
        return call.argument.made(self._sources)

    def _thoughts(self, recipes: Sequence[Recipe]) -> list[Line]:
        texts = [recipe.made(self._sources) for recipe in recipes]
        return [Line(Kind.THOUGHT, text) for text in texts if text]

    def _answer(self) -> Line:
        return Line(Kind.ANSWER, self._fitted() or self._own_words())

    def _fitted(self) -> str | None:
        """The example's answer with what this run has; None where that would say what nobody knows."""
        example = self._example
        if example.answer is None or len(self._outputs) != len(example.calls):
            return None
        if example.calls and is_search(example.calls[-1].ask.name):
            return None  # A passage is no sentence that would fit into another.
        used = example.used_outputs()
        for number, (call, output) in enumerate(zip(example.calls, self._outputs, strict=True), start=1):
            if number not in used and call.output.casefold() != output.casefold():
                return None
        return example.answer.made(self._sources)

    def _own_words(self) -> str:
        """What the Funcs and agents said: all of it, unless the last was told what the others said."""
        chained = any(call.argument.drawn_from() - {0} for call in self._example.calls)
        texts = [text for text in self._outputs if text]
        if not texts:
            is_agent = any(call.ask.kind is Kind.ASK_AGENT for call in self._example.calls[-1:])
            who = "The agent that was asked" if is_agent else "The agent's Func"
            return f"{who} gave an empty answer."
        return texts[-1] if chained else "\n".join(texts)


def _search(prompt: Prompt) -> str | None:
    """The Func that looks into documents for any question, where the agent's few-shots have one."""
    searches = [func for func in funcs_named(prompt.few_shots) if is_search(func)]
    attached = [func for func in searches if func.endswith("query_embed")]
    if attached and "#" in prompt.query:
        return attached[0]
    return next((func for func in searches if func not in attached), None)


def _sorry(examples: Library, query: str) -> str:
    near = _candidates(examples, tokens(query))
    questions = [" ".join(entry.shot.question.split()) for entry in near if not entry.is_followup]
    samples = list(dict.fromkeys(text[:SAMPLE_LENGTH] for text in questions))[:SAMPLES]
    if not samples:
        return SORRY
    return f"{SORRY} You could ask:\n" + "\n".join(f"- {sample}" for sample in samples)
