"""Conversations in which agents ask agents, as frames for a scripted socket and as rows of the whole site."""

import uuid
from typing import Any

from playwright.async_api import Page, expect

from sessions_app.models import Message, Run, Session
from tests.browser.stage import Frame, message, state

CANDIDATES = "0.93 fixie/dice: Roll two dice\n0.04 fixie/calc: What is 2 + 2?\n0.02 fixie/units: 3 miles in km"


def asked_of(seq: int, run: str, agent: str, text: str, query: int = 1) -> Frame:
    """The message by which an agent asks another, while it answers the message `query`."""
    return message(seq, "agent_call", f"Ask Agent[{agent}]: {text}", run, in_reply_to=query, agent="its/asker")


def below(run: str, parent: str, seq: int, status: str = "in_progress", agent: str = "fixie/dice") -> Frame:
    return state(status, run, seq, parent=parent, agent=agent)


def routing(seq: int, words: str, text: str = "roll 3d6") -> list[Frame]:
    """The two messages of a question to the Router."""
    call = message(seq, "func_call", f"Ask Func[fixie_route]: {text}")
    return [call, message(seq + 1, "func_output", f"Func[fixie_route] says:\n{words}")]


def rolled() -> list[Frame]:
    """A query for which the Fixie agent asked the dice agent, which called a Func."""
    return [
        message(1, "query", "roll 3d6"),
        *routing(2, CANDIDATES),
        asked_of(4, "run-2", "fixie/dice", "roll 3d6"),
        message(5, "func_call", "Ask Func[roll]: 6 3", "run-2", in_reply_to=4),
        message(6, "func_output", "Func[roll] says: 2 5 6", "run-2", in_reply_to=4),
        message(7, "agent_output", "Agent[fixie/dice] says: You rolled *2, 5 and 6*.", "run-2", in_reply_to=4),
        message(8, "response", "There: 2, 5 and 6.", agent="fixie/fixie"),
    ]


def ended() -> list[Frame]:
    return [state("completed", agent="fixie/fixie", parent=None), below("run-2", "run-1", 4, "completed")]


def deep(levels: int) -> list[Frame]:
    """A query, and `levels` agents each of which asked the next: runs `run-1` to `run-{levels + 1}`."""
    calls = [asked_of(n + 1, f"run-{n + 1}", f"a/{n + 1}", f"level {n}", n) for n in range(1, levels + 1)]
    return [message(1, "query", "Go down"), *calls, message(levels + 2, "thought", "Thought: so", f"run-{levels + 1}")]


async def unfolded(page: Page) -> None:
    """Opens everything that is folded, as deep as it goes."""
    closed = page.locator("fixie-turn details:not([open]) > summary")
    drawing = page.locator("details.child[open]:not(:has(> .child-body))")
    while await closed.count():
        await closed.first.click()
        await expect(drawing).to_have_count(0)


def store_tree(handle: str) -> None:
    """Rows of a query that is over: an agent asked one that asked one that was stopped, and one that failed."""
    session = Session.objects.get(handle=handle)
    top, dice, cup, coin = (uuid.uuid4() for _ in range(4))
    by_agent: dict[str, Any] = {"session": session, "agent": session.agent}
    Run.objects.bulk_create(
        [
            Run(id=top, query_seq=1, status="completed", **by_agent),
            Run(id=dice, query_seq=2, status="completed", parent_id=top, root_id=top, **by_agent),
            Run(id=cup, query_seq=3, status="canceled", parent_id=dice, root_id=top, **by_agent),
            Run(id=coin, query_seq=5, status="failed", parent_id=top, root_id=top, **by_agent),
        ]
    )
    rows = [
        (top, "query", "roll", None),
        (dice, "agent_call", "Ask Agent[fixie/dice]: roll 1d6", 1),
        (cup, "agent_call", "Ask Agent[fixie/cup]: shake", 2),
        (dice, "agent_output", "Agent[fixie/dice] says: 4", 2),
        (coin, "agent_call", "Ask Agent[fixie/coin]: flip", 1),
        (coin, "error", "It fell off the table.", 5),
        (top, "response", "A four.", 1),
    ]
    Message.objects.bulk_create(
        Message(
            seq=seq,
            run_id=run,
            kind=kind,
            text=text,
            in_reply_to=reply,
            **(by_agent if reply else {"session": session}),
        )
        for seq, (run, kind, text, reply) in enumerate(rows, 1)
    )
    Session.objects.filter(pk=session.pk).update(last_seq=len(rows))
