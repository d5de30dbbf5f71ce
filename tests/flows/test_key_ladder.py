"""The climb of a whole key: its records are read once, and each observation is asked what it would be asked alone."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from assay.flows.truth.climb_ladder import ask_rung, climb_key, open_ladder
from assay.ports.database import Database, Unit
from assay.ports.truth_store import TruthRecord
from assay.ports.validator import Judgement, Question
from assay.truth.contract import StageName
from tests.acting_truth import attach_fingerprint
from tests.flows._node import TENANT
from tests.flows._truth import Says, TruthDesk, opened_truth
from tests.truth.records import hash_of_text

T = TypeVar("T")
_REPORTERS = ("user:ann", "user:ben", "user:cem", "user:eve", "user:fay", "user:gus")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[TruthDesk]:
    with opened_truth(tmp_path) as one:
        one.people()
        yield one


@dataclass
class _Counting:
    """A database that counts the records of keys that were read."""

    inner: Database
    asked: int = 0
    rows: int = 0

    def read(self, work: Callable[[Unit], T]) -> T:
        return self.inner.read(lambda unit: work(_CountingUnit(unit, self)))  # type: ignore[arg-type]  # as far as used

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever the real one has
        return getattr(self.inner, name)


@dataclass
class _CountingUnit:
    inner: Any
    count: _Counting

    @property
    def truth(self) -> "_CountingUnit":
        return _CountingUnit(self.inner.truth, self.count)

    def records(self, *key: str) -> Iterator[TruthRecord]:
        self.count.asked += 1
        for one in self.inner.records(*key):
            self.count.rows += 1
            yield one

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever the real one has
        return getattr(self.inner, name)


@dataclass
class _Listens(Says):
    """Engines that keep what they were asked."""

    questions: list[Question] = field(default_factory=list)

    def validate(self, question: Question) -> Judgement:
        self.questions.append(question)
        return super().validate(question)


def _observe(desk: TruthDesk, number: int, *, reporters: int = 2) -> str:
    """By reporters in turn, all from one minute of each: the picture alone tells them apart."""
    picture = {"uri": "gs://kaori-evidence/a.jpg", "sha256": hash_of_text(str(number)), "mime_type": "image/jpeg"}
    given: dict[str, Any] = {"observation_id": f"obs-{number}", "evidence_refs": [picture]}
    return desk.observe(_REPORTERS[1 - number % reporters], **given).observation_hash


def test_a_key_is_read_once_however_many_observations_climb(desk: TruthDesk) -> None:
    """Not once for each observation and rung, which would be the square of them."""
    for number in range(300):
        _observe(desk, number, reporters=len(_REPORTERS))
    counting = _Counting(desk.tools.database)
    desk.tools = replace(desk.tools, database=counting)
    scored = desk.score()
    assert (counting.asked, counting.rows) == (1, 300)
    assert [one.stage for one in scored if one.score is not None] == [StageName.BOUNCER] * 300


def test_each_observation_is_asked_what_it_would_be_asked_alone(desk: TruthDesk) -> None:
    """What others showed before it, its own fingerprints and scores: the key's other records make no difference."""
    hashes = [_observe(desk, number) for number in range(6)]
    fingerprint = {"sha256": hash_of_text("0"), "method": "phash", "bits": "00ff00ff00ff00ff"}
    attach_fingerprint(desk.tools, hashes[0], fingerprint, credential=desk.operator, at=desk.now("12:31"))
    alone = _Listens({})
    ladder = open_ladder(desk.tools, TENANT, desk.truthkey)
    for one in hashes:
        # Nothing is recorded: the database that is written to is none.
        with pytest.raises(_NotWrittenError):
            ask_rung(_unwritten(desk), TENANT, ladder, one, alone, at=desk.now("12:35"))
    together = _Listens({})
    climb_key(desk.tools, TENANT, desk.truthkey, together, at=desk.now("12:35"))
    assert sorted(map(repr, together.questions)) == sorted(map(repr, alone.questions))
    last = next(one for one in alone.questions if one.observation.observation_hash == hashes[5])
    assert last.earlier_evidence == tuple(sorted(hash_of_text(str(number)) for number in (0, 2, 4)))
    assert [one.sha256 for one in last.earlier_fingerprints] == [hash_of_text("0")]


class _NotWrittenError(Exception):
    """Somebody wrote."""


@dataclass
class _Unwritten:
    inner: Database

    def write(self, work: object) -> None:
        raise _NotWrittenError(work)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever the real one has
        return getattr(self.inner, name)


def _unwritten(desk: TruthDesk) -> Any:  # noqa: ANN401  tools, as far as a climb uses them
    return replace(desk.tools, database=_Unwritten(desk.tools.database))  # type: ignore[arg-type]  # as far as used
