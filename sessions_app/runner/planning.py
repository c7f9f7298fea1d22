"""The Fixie agent with a language model: a Code Shot agent whose manifest is written anew for each query."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, cast

from common.errors import Canceled, FixieError, NotFound
from common.handles import HANDLE
from registry.routing.descriptions import Description, described
from registry.transports.base import AgentMessage, Manifest
from sessions_app.llm.base import LanguageModel
from sessions_app.llm.format import Kind, marker, read_step
from sessions_app.references import naming
from sessions_app.runner import code_shot
from sessions_app.runner.context import RunContext, Step
from sessions_app.runner.failover import ask_in_turn
from sessions_app.runner.route_steps import decisions_in, leading_decisions, steps_of

# So many agents are offered for a query, each with so many of its sample queries.
OFFERED, QUERIES = 6, 3

# An agent's name as users write it.
NAMED = re.compile(rf"@({HANDLE.pattern}(?:/{HANDLE.pattern})?)")

BASE_PROMPT = """I am Fixie, the front agent of this site. Other agents do the work: I find out which of them a query \
needs, ask them, and put what they say together into one answer.

Func[fixie_route] finds agents for a request. It answers with a line for each, the likeliest first: its score from 0 \
to 1, its name, and the sample query of its own that is most like the request. It has been asked about the whole query \
already. I ask it again only about a part of the query for which none of these agents is right.

Ask Agent[owner/name] asks one of these agents. It sees nothing but what I write to it: a whole request for one thing, \
with all the numbers, names and attachments (#1) that it needs, in the words of the query where they will do. Where a \
query holds several requests I ask for one after the other, and may use what was answered before.

My answer says what the agents said, in the user's language, and keeps references to attachments (#2) as they are. \
What agents did not say I do not make up. Where one of them could not answer, I say so.
Where no agent fits, for all of the query or for a part of it, I say that, and name the nearest as @owner/name, so \
that the user can ask it all the same by writing that name before the question. Where two fit alike I ask which one is \
meant, and name both in this way. To small talk I answer myself, in one sentence."""

NOBODY = (
    "There are no agents on this site yet. Whoever wants one here registers it with `fixie deploy` or POST /api/agents."
)

# The agents in them are made up: only those that Func[fixie_route] has found can be asked.
FEW_SHOTS = (
    """Q: Throw two dice
Ask Func[fixie_route]: Throw two dice
Func[fixie_route] says: 0.93 demo/dice: Roll 2d6
0.02 demo/poet: Write a poem about luck
Ask Agent[demo/dice]: Throw two dice
Agent[demo/dice] says: 3 4
A: You threw 3 and 4.""",
    """Q: What is the weather in Paris, and how do you say "umbrella" there?
Ask Func[fixie_route]: What is the weather in Paris, and how do you say "umbrella" there?
Func[fixie_route] says: 0.61 demo/weather: What is the weather in Rome?
0.05 demo/poet: Write a poem about Paris
Ask Agent[demo/weather]: What is the weather in Paris?
Agent[demo/weather] says: Light rain, 12 °C.
Ask Func[fixie_route]: How do you say "umbrella" in French?
Func[fixie_route] says: 0.91 demo/translator: How do you say "dog" in German?
Ask Agent[demo/translator]: How do you say "umbrella" in French?
Agent[demo/translator] says: parapluie
A: In Paris there is light rain, at 12 °C. An umbrella is "parapluie" there.""",
    """Q: Who will win the match tonight?
Ask Func[fixie_route]: Who will win the match tonight?
Func[fixie_route] says: No agent fits this well enough. The nearest are:
0.12 demo/weather: Will it rain tonight?
A: No agent here knows that. The nearest is @demo/weather, which tells the weather.""",
    """Q: Get me a table
Ask Func[fixie_route]: Get me a table
Func[fixie_route] says: Two agents are near:
0.46 demo/restaurants: Book a table for two
0.41 demo/furniture: Order a table
A: Which one do you mean: a table in a restaurant (@demo/restaurants), or one to keep (@demo/furniture)?""",
)


async def answer(ctx: RunContext, model: LanguageModel) -> AgentMessage:
    """Lets the model plan over the agents that the Router offers. Raises as `code_shot.answer`.

    An agent that fails is no end: the model hears it.
    """
    planning = _Planning(ctx, Manifest("code_shot"))
    if not leading_decisions(ctx.steps):
        await planning.store_route(ctx.query.text.strip())
    near = (near.agent for decision in leading_decisions(ctx.steps) for near in decision.near)
    planning.manifest = _manifest(await described(list(dict.fromkeys(near)), queries=QUERIES))
    return await code_shot.answer(cast(RunContext, planning), model, askable=_Found(ctx))


def _manifest(agents: Iterable[Description]) -> Manifest:
    offered = "\n".join(map(_offer, agents))
    around = f"Agents that the Router has found for this query:\n{offered}" if offered else NOBODY
    return Manifest("code_shot", f"{BASE_PROMPT}\n\n{around}", FEW_SHOTS, conversational=True)


def _offer(agent: Description) -> str:
    queries = ", ".join(f'"{query}"' for query in agent.queries)
    return f"- {agent.agent}: {agent.description or agent.name}" + (f" For example: {queries}" if queries else "")


class _Found:
    """The agents that this run may ask: those that were found for it so far, and whom its query names."""

    def __init__(self, ctx: RunContext) -> None:
        self._ctx = ctx

    def __contains__(self, agent: object) -> bool:
        found = {near.agent for decision in decisions_in(self._ctx.steps) for near in decision.near}
        return agent in found or agent in NAMED.findall(self._ctx.query.text)


@dataclass
class _Planning:
    """The run as the Code Shot loop sees it: with this manifest, the Func `fixie_route`, and failures as answers."""

    ctx: RunContext
    manifest: Manifest

    def __getattr__(self, name: str) -> Any:
        return getattr(self.ctx, name)

    @property
    def query(self) -> AgentMessage:
        return AgentMessage(naming(self.ctx.query.text, self.ctx.embed_keys))

    async def call_func(self, step: Step, func: str, text: str) -> AgentMessage:
        """Only `fixie_route` is named in the manifest, so no other Func is called."""
        _, (_, output) = steps_of(text, await self.ctx.route(text, OFFERED))
        return AgentMessage(read_step(output).text)

    async def store_route(self, text: str) -> None:
        await self.ctx.append_all(steps_of(text, await self.ctx.route(text, OFFERED)))

    async def ask_agent(self, agent: str, text: str, *, on_text: Callable[[str], None] | None = None) -> AgentMessage:
        agents = self._in_turn(agent)
        try:
            return await ask_in_turn(self.ctx, agents, text, on_text=on_text)
        except (Canceled, NotFound):
            raise
        except FixieError as error:
            failed = error.details.get("agent", agents[-1])
            await self.ctx.append("func_output", f"{marker(Kind.AGENT_SAYS, failed)} {error.message}")
            return AgentMessage(error.message)

    def _in_turn(self, agent: str) -> list[str]:
        """The agent, and those that the rule which led to it prefers after it."""
        for decision in reversed(decisions_in(self.ctx.steps)):
            if decision.preferred and agent in decision.in_turn:
                return decision.in_turn[decision.in_turn.index(agent) :]
        return [agent]
