"""Clusters of sampled answers: how often the judge is asked, and how long it takes, beside a loop over all pairs.

The loop asks about every pair in both directions, puts an answer into the first cluster whose first member it means the
same as, and so depends on the order. Answers are four meanings in several wordings each, some of them drawn twice.

Quality is that of the sealed contrast pairs (`tests/vectors/claims/equivalence`), beside the overlap of words alone.
"""

import json
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

from assay.claims.estimate.cluster import cluster_answers
from assay.claims.estimate.equivalence import RuleJudge, token_overlap
from bench._frame import Aim, Figure, compare, load, print_table

__all__ = ["figures"]

_FEW = 5
_OVERLAP = 0.6
_PAIRS = Path(__file__).parents[1] / "tests" / "vectors" / "claims" / "equivalence"
_QUESTION = "Which city hosts the archive?"
_CITIES = ("Paris", "Rome", "Oslo", "Bern")
_WORDINGS = ("{}", "It is {}.", "The archive is hosted by {}.", "{} hosts the archive.", "The city is {}.")


class _Counting:
    """A judge that counts, in both directions apart."""

    name = "counting"
    is_symmetric = False

    def __init__(self) -> None:
        self._judge = RuleJudge()
        self.asked = 0

    def entails(self, question: str, premise: str, hypothesis: str) -> bool:
        self.asked += 1
        return self._judge.entails(question, premise, hypothesis)


def _answers(k: int) -> list[str]:
    """Half of them one meaning, as a model that is rather sure would answer."""
    cities = [_CITIES[0] if place % 2 else _CITIES[place // 2 % 4] for place in range(k)]
    return [_WORDINGS[place * 7 % 5].format(city) for place, city in enumerate(cities)]


def _pairwise(answers: list[str], judge: _Counting) -> list[list[str]]:
    same = {
        (one, other)
        for one, other in combinations(range(len(answers)), 2)
        if judge.entails(_QUESTION, answers[one], answers[other])
        and judge.entails(_QUESTION, answers[other], answers[one])
    }
    groups: list[list[int]] = []
    for place in range(len(answers)):
        group = next((group for group in groups if (group[0], place) in same), None)
        if group is None:
            groups.append([place])
        else:
            group.append(place)
    return [[answers[place] for place in group] for group in groups]


def _calls(k: int) -> Figure:
    answers = _answers(k)
    began = time.process_time()
    ours, peer = _Counting(), _Counting()
    found = cluster_answers(_QUESTION, answers, ours)
    _pairwise(answers, peer)
    return Figure(
        name=f"clustering: questions to the judge, {k} answers",
        ours=ours.asked,
        peer=peer.asked,
        peer_name="pairwise loop",
        unit="questions",
        ratio=ours.asked / peer.asked,
        target=1.0 if k == _FEW else 0.8,
        cpu_seconds=time.process_time() - began,
        load=load(),
        aim=Aim.AT_MOST,
        note=f"{len(found.members)} meanings, {k * (k - 1) // 2} pairs",
    )


def _times(k: int) -> Figure:
    answers = _answers(k)
    return compare(
        f"clustering: {k} answers",
        lambda: cluster_answers(_QUESTION, answers, RuleJudge()),
        lambda: _pairwise(answers, _Counting()),
        peer_name="pairwise loop",
        target=1.0,
        unit="samples/s",
        seconds=0.2,
        rounds=3,
    )


def _sealed() -> list[dict[str, Any]]:
    files = [json.loads(path.read_text()) for path in sorted(_PAIRS.glob("*.json"))]
    return [pair for file in files if file["set"] == "sealed" for pair in file["items"]]


def _share(joins: Callable[[str, str, str], bool], pairs: list[dict[str, Any]]) -> float:
    """Which share of the pairs is joined."""
    return sum(joins(pair["question"], pair["one"], pair["other"]) for pair in pairs) / len(pairs)


def _overlapping(_question: str, one: str, other: str) -> bool:
    return token_overlap(one.casefold(), other.casefold()) >= _OVERLAP


def _quality() -> list[Figure]:
    pairs = _sealed()
    apart = [pair for pair in pairs if not pair["same"]]
    alike = [pair for pair in pairs if pair["same"]]
    swapped = [pair for pair in apart if pair["kind"] in ("role", "converse", "direction")]
    rows = (
        ("wrong merges", apart, Aim.AT_MOST, 0.05),
        ("recall", alike, Aim.AT_LEAST, 0.75),
        ("exchanged roles merged", swapped, Aim.AT_MOST, 0.25),
    )
    return [_quality_figure(*row) for row in rows]


def _quality_figure(name: str, pairs: list[dict[str, Any]], aim: Aim, target: float) -> Figure:
    began = time.process_time()
    ours, peer = _share(RuleJudge().entails, pairs), _share(_overlapping, pairs)
    return Figure(
        name=f"equivalence, sealed pairs: {name}",
        ours=ours,
        peer=peer,
        peer_name="word overlap alone",
        unit="share",
        ratio=ours,
        target=target,
        cpu_seconds=time.process_time() - began,
        load=load(),
        aim=aim,
        note=f"{len(pairs)} pairs",
    )


def figures() -> list[Figure]:
    return [*(_calls(k) for k in (5, 10, 20)), *(_times(k) for k in (5, 10, 20)), *_quality()]


if __name__ == "__main__":
    print_table(figures())
