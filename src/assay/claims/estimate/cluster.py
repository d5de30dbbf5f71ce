"""Clusters of answers that mean the same: a true partition, whatever the order of the answers.

answers -> identical ones merged, with their counts -> pairs asked -> connected components of two-way equivalence
A pair that is connected already is not asked again, and a no in one direction spares the other.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import UNSET, Struct, UnsetType

from assay.claims.errors import ClaimsError
from assay.claims.estimate.equivalence import EquivalenceJudge, ExplainingJudge


class SampledAnswer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One answer of a model; `logprob` is that of the whole text, None where the model gave none."""

    text: str
    logprob: float | None = None


class Asked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One question to the judge, its answer, and what decided it where the judge says so."""

    premise: str
    hypothesis: str
    entails: bool
    decided_by: str | UnsetType = UNSET


class Clusters(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`members` are places in the sample, ascending; clusters by size, then by their text that sorts first."""

    members: tuple[tuple[int, ...], ...]
    asked: tuple[Asked, ...]
    judge: str

    @property
    def deciders(self) -> str:
        """What decided, with how often, the most frequent first; empty where no judge was asked or says so."""
        told = Counter(one.decided_by for one in self.asked if one.decided_by is not UNSET)
        return ", ".join(f"{name} ({times})" for name, times in sorted(told.items(), key=lambda one: (-one[1], one[0])))

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(len(places) for places in self.members)


class _Group(NamedTuple):
    texts: list[str]


class Grouping:
    """The groups so far; answers are added one by one, so that sampling may stop early."""

    def __init__(self, question: str, judge: EquivalenceJudge) -> None:
        self._question = question
        self._judge = judge
        self._explaining = judge if isinstance(judge, ExplainingJudge) else None
        self._answers: list[str] = []
        self._groups: list[_Group] = []
        self._asked: list[Asked] = []

    @property
    def is_one(self) -> bool:
        return len(self._groups) == 1

    def add(self, text: str) -> None:
        """Join every group that any member of connects; those groups become one.

        Every member of a group is asked about, until one connects: that keeps components whole in any order.
        """
        self._answers.append(text)
        if any(text in group.texts for group in self._groups):
            return
        joined, apart = [text], []
        for group in self._groups:
            if any(self._are_equivalent(text, member) for member in group.texts):
                joined.extend(group.texts)
            else:
                apart.append(group)
        self._groups = [*apart, _Group(joined)]

    def clusters(self) -> Clusters:
        groups = sorted(self._groups, key=lambda group: (-self._size(group), min(group.texts)))
        members = tuple(
            tuple(place for place, text in enumerate(self._answers) if text in group.texts) for group in groups
        )
        return Clusters(members=members, asked=tuple(self._asked), judge=self._judge.name)

    def _size(self, group: _Group) -> int:
        return sum(text in group.texts for text in self._answers)

    def _are_equivalent(self, one: str, other: str) -> bool:
        # Always the same way round, so that the order of the answers cannot matter.
        premise, hypothesis = sorted((one, other))
        if not self._entails(premise, hypothesis):
            return False
        return self._judge.is_symmetric or self._entails(hypothesis, premise)

    def _entails(self, premise: str, hypothesis: str) -> bool:
        decided_by: str | UnsetType = UNSET
        if self._explaining is not None:
            answer, decided_by = self._explaining.judge(self._question, premise, hypothesis)
        else:
            answer = self._judge.entails(self._question, premise, hypothesis)
        self._asked.append(Asked(premise=premise, hypothesis=hypothesis, entails=answer, decided_by=decided_by))
        return answer


def cluster_answers(question: str, answers: Sequence[str], judge: EquivalenceJudge) -> Clusters:
    """The clusters of a whole sample; answers that differ only in white space at their ends are identical."""
    if not answers:
        raise ClaimsError.sample("expected at least one answer, got none")
    grouping = Grouping(question, judge)
    for answer in answers:
        grouping.add(answer.strip())
    return grouping.clusters()
