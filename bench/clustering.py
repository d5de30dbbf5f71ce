"""Clusters of sampled answers: how often the judge is asked, and how long it takes, beside a loop over all pairs.

The loop asks about every pair in both directions, puts an answer into the first cluster whose first member it means the
same as, and so depends on the order. Answers are four meanings in several wordings each, some of them drawn twice.
"""

import time
from itertools import combinations

from assay.claims.estimate.cluster import cluster_answers
from assay.claims.estimate.equivalence import RuleJudge
from bench._frame import Aim, Figure, compare, load, print_table

__all__ = ["figures"]

_FEW = 5
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


def figures() -> list[Figure]:
    return [*(_calls(k) for k in (5, 10, 20)), *(_times(k) for k in (5, 10, 20))]


if __name__ == "__main__":
    print_table(figures())
