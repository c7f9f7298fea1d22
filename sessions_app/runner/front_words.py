"""What the Fixie agent says itself: where it has to ask the user which agent, where none fits, and to a greeting."""

import re

from registry.routing.descriptions import Description, described
from sessions_app.runner.route_steps import Decision, Verdict

NEAREST, EXAMPLES = 3, 3
# A question is said again, to show how an agent is addressed, where it is no longer than this.
QUOTED_MAX = 200

INTRODUCTION = "Hello! I am Fixie: ask me anything, and I find the agent that can answer it."
NOBODY_HERE = (
    "There are no agents here yet that I could ask. Register one with `fixie deploy`, with `fixie serve`, "
    "or with POST /api/agents, and then ask me again."
)

_GREETINGS = (
    r"hi|hello|hey|hiya|howdy|greetings|good (?:morning|afternoon|evening|day)|how are you(?: doing)?(?: today)?"
    r"|thanks|thank you|thanks a lot|thank you very much|good ?bye|bye|see you"
    r"|who are you|what are you|what can you do|what do you do|what can i ask(?: you)?|what is this|help(?: me)?"
    r"|hallo|guten (?:tag|morgen|abend)|moin|servus|danke(?: schön)?|tschüss|bonjour|bonsoir|salut|merci|au revoir"
    r"|hola|buenos días|buenas (?:tardes|noches)|gracias|adiós|ciao|buongiorno|grazie|olá|obrigad[oa]"
    r"|привет|здравствуйте|спасибо|你好|谢谢|こんにちは|ありがとう|안녕하세요"
)
_SMALL_TALK = re.compile(rf"\W*(?:(?:{_GREETINGS})\b(?: (?:there|fixie|everybody|all))?\W*){{1,3}}", re.IGNORECASE)


def is_small_talk(text: str) -> bool:
    """Whether `text` is nothing but a greeting, a thank-you, or asks what there is to be asked."""
    return _SMALL_TALK.fullmatch(text.strip()) is not None


async def own_answer(decision: Decision, *, is_part: bool = False) -> str | None:
    """What to say instead of asking an agent; None where one is to be asked.

    Of a part of a query it is a sentence that names the part, to stand beside what is said to the others.
    """
    greets = _greets(decision)
    if decision.verdict is Verdict.ASK and not greets:
        return None
    found = await described([near.agent for near in decision.near], queries=1)
    if greets and found:
        return _introduction(found)
    if is_part:
        return _of_part(decision, found)
    if not found:
        return NOBODY_HERE
    return _choice(decision.text, found[:2]) if decision.verdict is Verdict.CHOOSE else _nearest(decision.text, found)


def _greets(decision: Decision) -> bool:
    """Small talk, and no agent is for just that."""
    return is_small_talk(decision.text) and not any(is_small_talk(near.matched_query) for near in decision.near[:1])


def _introduction(found: list[Description]) -> str:
    examples = [f"- {one.queries[0]}" for one in found if one.queries][:EXAMPLES]
    return "\n".join([f"{INTRODUCTION} You could ask:", *examples]) if examples else INTRODUCTION


def _choice(text: str, found: list[Description]) -> str:
    question = "Two agents could answer this. Which one shall I ask?"
    return "\n".join([question, *map(_line, found), "", _how_to_address(text, found[0])])


def _nearest(text: str, found: list[Description]) -> str:
    sorry = "No agent here fits this well enough. The nearest are:"
    return "\n".join([sorry, *map(_line, found[:NEAREST]), "", _how_to_address(text, found[0])])


def _of_part(decision: Decision, found: list[Description]) -> str:
    part = f"For “{_quoted(decision.text)}”"
    if not found:
        return f"{part} there is no agent here."
    if decision.verdict is Verdict.NOBODY:
        return f"{part} no agent here fits; the nearest is {_in_words(found[0])}."
    either = " or ".join(map(_in_words, found[:2]))
    return f"{part} ask {either}: put its name first, as in @{found[0].agent} {_quoted(decision.text)}"


def _in_words(one: Description) -> str:
    return f"@{one.agent} ({one.purpose.rstrip('.')})" if one.purpose else f"@{one.agent}"


def _quoted(text: str) -> str:
    return text if len(text) <= QUOTED_MAX and "\n" not in text else "…"


def _line(one: Description) -> str:
    return f"- @{one.agent}: {one.purpose}" if one.purpose else f"- @{one.agent}"


def _how_to_address(text: str, one: Description) -> str:
    return f"To ask one of them, put its name first: @{one.agent} {_quoted(text)}"
