"""Ranking: the right agent first, scores that mean something, and no answer where there is none."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.routing import lexical
from registry.routing.ranking import AGENTS, LEXICAL, MINILM, Candidate, Ranked, abstains, calibration, is_close, rank
from registry.routing.vectors import unit

DICE = ("Roll a die", "Roll three dice", "Throw two dice for me", "Roll 3d8")
UNITS = ("How many km are 3 miles?", "Convert 5 pounds to kilograms", "What is 30 Celsius in Fahrenheit?")
ECHO = ("Say hello", "Repeat after me: hello there")


def candidate(agent: str, texts: tuple[str, ...]) -> Candidate:
    return Candidate(agent, texts, lexical.vectors(texts))


def ranked(query: str, *candidates: Candidate) -> list[Ranked]:
    return rank(lexical.vectors([query])[0], query, candidates, LEXICAL)


SITE = (candidate("fixie/dice", DICE), candidate("fixie/units", UNITS), candidate("fixie/echo", ECHO))


@pytest.mark.parametrize(
    ("query", "agent", "matched"),
    [
        ("roll three dice", "fixie/dice", "Roll three dice"),
        ("how many km are 7 miles", "fixie/units", "How many km are 3 miles?"),
        ("say hello to everybody", "fixie/echo", "Say hello"),
    ],
)
def test_the_agent_with_the_samples_nearest_is_first(query, agent, matched):
    first, *others = ranked(query, *SITE)
    assert (first.agent, first.matched_query) == (agent, matched)
    assert first.score > sum(other.score for other in others)
    assert not abstains([first, *others])
    assert not is_close([first, *others])


def test_none_is_good_enough_for_a_query_that_is_like_nothing():
    assert abstains(ranked("Qual è la capitale della Mongolia?", *SITE))


def test_without_candidates_or_samples_nobody_is_ranked():
    assert ranked("roll", *()) == []
    assert ranked("roll", candidate("fixie/mute", ())) == []
    assert abstains([])
    assert not is_close([])


def test_two_agents_with_the_same_samples_share_the_score_and_a_person_chooses():
    answers = ranked("roll three dice", candidate("a/dice", DICE), candidate("b/copy", DICE), *SITE[1:])
    first, second, *_ = answers
    assert {first.agent, second.agent} == {"a/dice", "b/copy"}
    assert first.score == pytest.approx(second.score, rel=0.01)
    assert is_close(answers)
    assert not abstains(answers)


def test_repeating_a_sample_wins_nothing():
    honest, greedy = candidate("a/dice", DICE[:1]), candidate("b/many", ("Roll a coin",) * 12)
    assert ranked("roll a die", honest, greedy)[0].agent == "a/dice"


def test_of_agents_alike_the_one_with_more_near_samples_wins():
    one = candidate("a/one", ("cancel my train ticket", "book a hotel", "weather in Rome"))
    many = candidate("b/many", ("cancel my bus ticket", "cancel the plane ticket", "cancel a boat ticket"))
    assert ranked("cancel this ferry ticket", one, many)[0].agent == "b/many"


def test_at_most_so_many_agents_come_into_question():
    crowd = [candidate(f"user/agent-{number}", (f"do task {number}",)) for number in range(50)]
    answers = ranked("do task 33", *crowd)
    assert len(answers) == AGENTS
    assert answers[0].agent == "user/agent-33"


@given(st.lists(st.lists(st.text(max_size=20), max_size=6), max_size=14), st.text(max_size=20))
def test_scores_are_probabilities_and_in_order_whatever_the_texts(texts, query):
    answers = ranked(query, *(candidate(f"user/{number}", tuple(own)) for number, own in enumerate(texts)))
    scores = [answer.score for answer in answers]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert sum(scores) <= 1 + 1e-6
    assert len({answer.agent for answer in answers}) == min(sum(map(bool, texts)), AGENTS)


def test_each_embedder_has_a_calibration():
    assert calibration("lexical") is LEXICAL
    assert calibration("all-MiniLM-L6-v2") is calibration("text-embedding-3-small") is MINILM


def test_ranking_takes_milliseconds_however_many_samples_agents_have():
    draws = np.random.default_rng(0)
    texts = tuple(f"a sample query of about the usual length, number {number}" for number in range(100))
    crowd = [
        Candidate(f"user/{number}", texts, unit(draws.standard_normal((100, 384)).astype(np.float32)))
        for number in range(30)
    ]
    seconds = []
    for _ in range(9):
        began = time.perf_counter()
        rank(crowd[0].vectors[0], texts[0], crowd)
        seconds.append(time.perf_counter() - began)
    assert min(seconds) < 0.02
