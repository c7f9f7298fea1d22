"""Ranks agents for a query by their sample queries, and says how likely each is the right one.

The nearest sample alone decides badly between agents that are alike. So the samples of the agents that come into
question explain the query together: kernel ridge regression, solved for this one query, in which a sample that many
others resemble counts less. Nothing is learned beforehand, and agents come and go without refitting.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log

import numpy as np
from numpy.typing import NDArray

from registry.routing import lexical
from registry.routing.vectors import Vectors

# So many agents come into question, each with so many of its samples, the nearest first. More of either is slower and
# no better.
AGENTS, SAMPLES = 8, 12
# The kernel is exp(SHARPNESS (cosine - 1)); NOISE says how little a single sample is trusted.
SHARPNESS, NOISE = 3.0, 0.2
# What words in common add to what an agent's samples explain. Which words are rare, and so tell something, shows only
# among many samples: with FEW of them, words in common count half.
WORDS, FEW = 0.3, 60
# Samples whose words are remembered: taking them apart anew costs as much as the rest of the ranking.
REMEMBERED = 16_384

Floats = NDArray[np.floating]
# Instead of nothing, where it would divide.
_TINY = 1e-12


@dataclass(frozen=True, slots=True)
class Candidate:
    """An agent and the samples of it that are near the query: `texts`, and their `vectors`, a row of length 1 each."""

    agent: str
    texts: Sequence[str]
    vectors: Vectors


@dataclass(frozen=True, slots=True)
class Calibration:
    """Makes probabilities, for one embedder. `_scores` says what the numbers mean."""

    contrast: float
    offset: float
    similarity: float
    agents: float


# Found by maximum likelihood on rows of BANKING77's training set that were no samples (a fifth of them), over 9,000
# queries to 2 to 77 agents with 1 to 30 samples each; in a third of them the right agent was not among the candidates.
# Of what was said to be 0.55, 47 % was right; of 0.75, 73 %; of 0.95, 98 %. The constants above are from the same rows.
MINILM = Calibration(contrast=17.0, offset=-3.8, similarity=9.3, agents=-0.78)
LEXICAL = Calibration(contrast=22.0, offset=-1.1, similarity=6.1, agents=-0.66)

# Below this chance that any agent is right, none is good enough. Nine of ten queries that an agent was there for were
# above it, and half of those for which there were only others of the same trade.
ABSTAIN_BELOW = 0.4
# A second agent that has so much of the first one's score is near.
CLOSE = 0.5


@dataclass(frozen=True, slots=True)
class Ranked:
    """An agent, the probability that it is the right one, and its sample nearest the query with its cosine."""

    agent: str
    score: float
    matched_query: str
    similarity: float


def calibration(embedder: str) -> Calibration:
    """That of the embedder with this name; servers' models are taken to be like MiniLM."""
    return LEXICAL if embedder == lexical.NAME else MINILM


def rank(
    vector: Vectors, text: str, candidates: Sequence[Candidate], calibration: Calibration = MINILM
) -> list[Ranked]:
    """The candidates that come into question for the query `text`, whose vector is `vector`; the best first.

    At most AGENTS of them. Their scores add up to the chance that any is right.
    """
    near = _near(vector, candidates)
    if not near:
        return []
    best = [int(agent.similarities.argmax()) for agent in near]
    similarities = np.array([agent.similarities[at] for agent, at in zip(near, best, strict=True)])
    scores = _scores(_evidence(text, near), similarities, calibration)
    return [
        Ranked(near[i].agent, float(scores[i]), near[i].texts[best[i]], float(similarities[i]))
        for i in np.argsort(-scores, kind="stable")
    ]


def abstains(ranked: Sequence[Ranked]) -> bool:
    """Whether none is good enough."""
    return sum(agent.score for agent in ranked) < ABSTAIN_BELOW


def is_close(ranked: Sequence[Ranked]) -> bool:
    """Whether the first two are so near that a person should choose."""
    return len(ranked) > 1 and ranked[1].score > CLOSE * ranked[0].score


@dataclass(frozen=True, slots=True)
class _Near:
    """A candidate's samples that are nearest."""

    agent: str
    texts: Sequence[str]
    vectors: Vectors
    similarities: Vectors


def _near(vector: Vectors, candidates: Sequence[Candidate]) -> list[_Near]:
    measured = [(candidate, candidate.vectors @ vector) for candidate in candidates if candidate.texts]
    measured.sort(key=lambda pair: -pair[1].max())
    return [_nearest_of(candidate, similarities) for candidate, similarities in measured[:AGENTS]]


def _nearest_of(candidate: Candidate, similarities: Vectors) -> _Near:
    if len(similarities) <= SAMPLES:
        return _Near(candidate.agent, candidate.texts, candidate.vectors, similarities)
    order = np.argsort(-similarities, kind="stable")[:SAMPLES]
    return _Near(candidate.agent, [candidate.texts[i] for i in order], candidate.vectors[order], similarities[order])


def _evidence(text: str, near: Sequence[_Near]) -> Floats:
    """What each agent's samples explain of the query, and the words they share with it; about 1 where all fits."""
    samples = np.concatenate([agent.vectors for agent in near])
    similarities = np.concatenate([agent.similarities for agent in near])
    # Where each agent's samples begin.
    starts = np.cumsum([0, *(len(agent.texts) for agent in near[:-1])])
    kernel = np.exp(SHARPNESS * (samples @ samples.T - 1))
    kernel[np.diag_indices_from(kernel)] += NOISE
    weights = np.linalg.solve(kernel, np.exp(SHARPNESS * (similarities - 1)))
    shared = _shared_words(text, [sample for agent in near for sample in agent.texts])
    common = WORDS * len(samples) / (len(samples) + FEW)
    evidence: Floats = np.add.reduceat(weights, starts) + common * np.maximum.reduceat(shared, starts)
    return evidence


def _shared_words(text: str, samples: Sequence[str]) -> Floats:
    """How much each sample shares with `text`, 0 to 1: the cosine of their words, rare ones weighing more."""
    asked, found = _words_of(text), [_words_of(sample) for sample in samples]
    # Whose word each is.
    sample_of = np.repeat(np.arange(len(found)), [len(words) for words in found])
    words, places, counts = np.unique(np.concatenate(found), return_inverse=True, return_counts=True)
    rarity = np.log((1 + len(samples)) / (1 + counts)) ** 2
    is_asked = np.isin(words, asked, assume_unique=True)
    unknown = (len(asked) - is_asked.sum()) * log(1 + len(samples)) ** 2
    whole = rarity[is_asked].sum() + unknown
    sizes = whole * np.bincount(sample_of, rarity[places], len(found))
    shared = np.bincount(sample_of, (rarity * is_asked)[places], len(found))
    cosines: Floats = shared / np.sqrt(np.maximum(sizes, _TINY))
    return cosines


@lru_cache(REMEMBERED)
def _words_of(text: str) -> NDArray[np.int64]:
    """Each word once, as a number: numpy counts numbers many times faster than Python counts words."""
    return np.array([hash(word) for word in set(lexical.words(text))], np.int64)


def _scores(evidence: Floats, similarities: Vectors, calibration: Calibration) -> Floats:
    """The chance that any agent is right, shared out by their evidence.

    It is a logistic function of the nearest sample's similarity; among many agents one is near by chance.
    """
    c = calibration
    shares = np.exp(c.contrast * (evidence - evidence.max()))
    fit = c.offset + c.similarity * similarities.max() + c.agents * log(len(similarities))
    scores: Floats = shares / shares.sum() / (1 + np.exp(-fit))
    return scores
