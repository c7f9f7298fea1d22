"""Routing decisions as steps: what is stored can be read again, whatever stands in it."""

import pytest

from registry.routing.router import Candidate, PassedOver, Route
from sessions_app.runner.context import Step
from sessions_app.runner.route_steps import Decision, Verdict, decided, decisions_in, leading_decisions, steps_of

DICE = Candidate("fixie/dice", "Dice", 0.934, "Roll\n two   dice", 0.9)
UNITS = Candidate("a-b_c/units-2", "Units", 0.0, "", 0.1)

NEAR = Candidate("fixie/near", "Near", 0.999, "Also near, by their sample queries:", 0.9)


def route(*candidates: Candidate, abstain: bool = False, is_close: bool = False, rule: str | None = None) -> Route:
    return Route(list(candidates), abstain, is_close, rule, "test")


def stored(*routed: tuple[str, Route]) -> list[Step]:
    steps = [step for text, found in routed for step in steps_of(text, found)]
    return [Step(number, kind, text) for number, (kind, text) in enumerate(steps, start=1)]


def test_each_candidate_is_a_line() -> None:
    call, output = stored(("Roll 3d6", route(DICE, UNITS)))
    assert (call.kind, call.text) == ("func_call", "Ask Func[fixie_route]: Roll 3d6")
    assert (output.kind, output.text) == (
        "func_output",
        "Func[fixie_route] says: 0.93 fixie/dice: Roll two dice\n0.00 a-b_c/units-2: ",
    )


@pytest.mark.parametrize(
    ("found", "heading", "verdict"),
    [
        (route(DICE, UNITS), "0.93 ", Verdict.ASK),
        (route(DICE, UNITS, is_close=True), "Two agents are near:\n0.93 ", Verdict.CHOOSE),
        (route(DICE, abstain=True), "No agent fits this well enough. The nearest are:\n0.93 ", Verdict.NOBODY),
        (route(DICE, rule="any query:\n dice"), "A rule chose (any query: dice):\n0.93 ", Verdict.ASK),
        (route(abstain=True), "There are no agents to ask.", Verdict.NOBODY),
    ],
)
@pytest.mark.parametrize("text", ["Roll 3d6", "Roll\nQ: x\nA: y\n\n Ask Func[z]: 1", "Two agents are near:"])
def test_what_is_stored_is_read_again(text: str, found: Route, heading: str, verdict: Verdict) -> None:
    steps = stored((text, found))
    assert steps[1].text.startswith(f"Func[fixie_route] says: {heading}")
    [decision] = leading_decisions(steps)
    assert (decision.text, decision.verdict) == (text, verdict)
    assert [(near.agent, near.matched_query) for near in decision.near] == [
        (near.agent, near.matched_query) for near in decided(text, found).near
    ]


OFF = PassedOver("fixie/old-dice", "is switched off")


def test_whom_a_rule_prefers_and_passes_over_is_told_and_read_again() -> None:
    both = [DICE.agent, UNITS.agent]
    found = Route([DICE, UNITS, NEAR], False, False, "any query: dice", "test", both, [OFF])
    steps = stored(("Roll 3d6", found))
    assert steps[1].text.splitlines() == [
        "Func[fixie_route] says: A rule chose (any query: dice):",
        "Passed over: fixie/old-dice is switched off.",
        "0.93 fixie/dice: Roll two dice",
        "0.00 a-b_c/units-2: ",
        "Also near, by their sample queries:",
        "1.00 fixie/near: Also near, by their sample queries:",
    ]
    [decision] = leading_decisions(steps)
    assert decision.in_turn == decided("Roll 3d6", found).in_turn == both
    assert [near.agent for near in decision.near] == [*both, NEAR.agent]
    alone = Route([DICE], False, False, "any query: dice", "test", both)
    assert leading_decisions(stored(("Roll", alone)))[0].in_turn == [DICE.agent]


def test_where_similarity_chose_only_the_first_is_asked_whoever_was_passed_over() -> None:
    found = Route([DICE, UNITS], False, False, None, "test", passed_over=[OFF, OFF])
    steps = stored(("Roll 3d6", found))
    was = "fixie/old-dice is switched off"
    assert steps[1].text.startswith(f"Func[fixie_route] says: Passed over: {was}; {was}.\n0.93 fixie/dice")
    assert leading_decisions(steps)[0].in_turn == [DICE.agent]


def test_decisions_end_where_other_steps_begin() -> None:
    first, second = ("Roll", route(DICE)), ("Convert", route(UNITS))
    asked = [Step(5, "agent_call", "Ask Agent[fixie/dice]: Roll"), Step(6, "agent_output", "Agent[fixie/dice] says: 3")]
    steps = [*stored(first, second), *asked, *stored(("Again", route(DICE)))]
    assert texts(leading_decisions(steps)) == ["Roll", "Convert"]
    assert texts(decisions_in(steps)) == ["Roll", "Convert", "Again"]
    assert leading_decisions(asked) == leading_decisions([]) == leading_decisions(steps[:1]) == []


def texts(decisions: list[Decision]) -> list[str]:
    return [decision.text for decision in decisions]
