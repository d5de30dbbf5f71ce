"""Records in requests with a key: each is judged once, and its verdicts, its key and its answer are one commit."""

import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.flows.answer_once import KEPT, KeyedRequest
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.request import Done
from assay.flows.verdicts.evaluate import EvaluateRecord, evaluate_each
from assay.flows.verdicts.read_verdicts import Decided, decided_of
from assay.identity.caller import Caller
from assay.kernel.digest import digest_of
from assay.kernel.errors import Error
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.operations.dispatch import reply_of
from assay.ports.request_store import KeptRequest
from tests.acting import caller_of
from tests.flows._node import TENANT
from tests.flows._people import FailingAtTheEnd, LostError, Meddling
from tests.flows._together import together
from tests.flows._verdicts import VerdictDesk, opened_verdicts, rule

_SENDER = PrincipalId("service:sensor")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[VerdictDesk]:
    with opened_verdicts(tmp_path) as opened:
        opened.judge_by(rule("limit"))
        yield opened


@dataclass(frozen=True)
class _Sent:
    """A request with its caller, as it waits beside others."""

    caller: Caller
    request: EvaluateRecord
    keyed: KeyedRequest | None


def _request(desk: VerdictDesk, number: int, *, key: str | None = "", so2: int = 1, later: int = 0) -> _Sent:
    """Its key is that of the record unless another is given, and None is none."""
    given = msgspec.json.encode(desk.record({"so2": so2}, name=f"t-{number}"))
    keyed = KeyedRequest(
        tenant_id=TENANT,
        principal_id=_SENDER,
        request_key=key or f"k-{number}",
        fingerprint=digest_of(given),
        is_repeatable=True,
    )
    caller = caller_of(desk.tools, desk.sensor, at=Instant(desk.at(minutes=6) + timedelta(seconds=later)))
    return _Sent(caller, EvaluateRecord(record=given), None if key is None else keyed)


def _answer(desk: VerdictDesk, *sent: _Sent) -> list[Any]:
    answers = evaluate_each(desk.tools, [(one.caller, one.request) for one in sent], [one.keyed for one in sent])
    return [reply_of(one) if isinstance(one, Done) else one for one in answers]


def _kept(desk: VerdictDesk, key: str) -> KeptRequest | None:
    return desk.read(lambda unit: unit.requests.find(TENANT, _SENDER, key))


def _recorded(desk: VerdictDesk, name: str) -> Decided:
    return desk.read(lambda unit: decided_of(unit, TENANT, name))


def _codes(answers: list[Any]) -> list[object]:
    return [one.code if isinstance(one, Error) else one.status for one in answers]


def test_a_request_that_is_sent_again_is_answered_byte_for_byte_and_judged_once(desk: VerdictDesk) -> None:
    first = _answer(desk, *(_request(desk, n) for n in range(3)))
    head = desk.head()
    again = _answer(desk, *(_request(desk, n, later=5) for n in (2, 0, 1)))
    assert _codes(first) == [201, 201, 201]
    assert [(one.status, one.body, one.headers) for one in again] == [
        (first[n].status, first[n].body, first[n].headers) for n in (2, 0, 1)
    ]
    assert [one.is_kept for one in (*first, *again)] == [False] * 3 + [True] * 3
    assert desk.head() == head
    assert msgspec.json.decode(first[1].body, type=Decided).verdicts == _recorded(desk, "t-1").verdicts


def test_verdicts_keys_and_answers_of_all_who_wait_are_one_commit(desk: VerdictDesk) -> None:
    """With and without a key, of several threads at once; each key stands beside the entry that it is about."""
    jobs: list[Callable[[], object]] = [
        lambda n=n: _answer(desk, _request(desk, n, key=None if n % 3 == 0 else ""))  # type: ignore[misc]  # bound at once
        for n in range(9)
    ]
    before = desk.tools.database.facts().commits
    done = together(desk.tools.database, None, jobs)
    # One is the test's own, which keeps the writer busy until all have come.
    assert desk.tools.database.facts().commits - before == 2
    assert [_codes(one) for one in done] == [[201]] * 9  # type: ignore[arg-type]  # answers of one request each
    for n in range(9):
        [verdict] = _recorded(desk, f"t-{n}").verdicts
        kept = _kept(desk, f"k-{n}")
        assert (kept and (kept.entry, kept.status)) == (None if n % 3 == 0 else (verdict.sequence_number - 1, 201))
    assert audit_ledger(desk.tools, TENANT, full=True).holds


@dataclass
class _Still:
    """A clock that stands, and ids that count: two nodes that do the same write the same."""

    instant: Instant
    count: int = 0

    def now(self) -> Instant:
        return self.instant

    def token(self, size: int) -> bytes:
        self.count += 1
        return self.count.to_bytes(size, "big")


def _rows_of_copy(desk: VerdictDesk, home: Path, name: str, *, is_keyed: bool) -> list[str]:
    """Every row of a copy of the node, after its records came with a key, or without one."""
    shutil.copytree(home / "node", home / name / "node")
    still = _Still(desk.at(minutes=6))
    with opened_verdicts(home / name, is_new=False) as copy:
        copy.start, copy.sensor = desk.start, desk.sensor
        copy.use(clock=still, entropy=still)
        assert desk.model is not None
        copy.thinks(desk.model)
        requests = [_request(copy, n, key="" if is_keyed else None, so2=n * 9) for n in range(8)]
        assert _codes(_answer(copy, *requests)) == [201] * 8
    with closing(sqlite3.connect(home / name / "node" / "assay.db")) as connection:
        return [line for line in connection.iterdump() if line.startswith("INSERT INTO")]


def test_a_key_changes_not_a_byte_of_what_is_recorded(tmp_path: Path) -> None:
    """Entries, rows, events and tiles are those of the same records without a key; beside them stand the keys."""
    with opened_verdicts(tmp_path) as desk:
        desk.judge_by(rule("limit"))
    plain = _rows_of_copy(desk, tmp_path, "plain", is_keyed=False)
    keyed = _rows_of_copy(desk, tmp_path, "keyed", is_keyed=True)
    own = [line for line in keyed if 'INTO "kept_request"' in line]
    assert len(own) == 8
    assert [line for line in keyed if line not in own] == plain


def test_a_commit_that_fails_leaves_neither_verdict_nor_key(desk: VerdictDesk) -> None:
    working, head = desk.tools, desk.head()
    desk.use(database=FailingAtTheEnd(desk.tools.database))
    with pytest.raises(LostError):
        _answer(desk, _request(desk, 1))
    desk.tools = working
    assert (desk.head(), _kept(desk, "k-1")) == (head, None)
    assert _codes(_answer(desk, _request(desk, 1))) == [201]


def test_who_is_refused_is_refused_alone_and_may_use_the_key_again(desk: VerdictDesk) -> None:
    odd = replace(_request(desk, 7), request=EvaluateRecord(record=b"{"))
    answers = _answer(desk, _request(desk, 1), odd, _request(desk, 2))
    assert _codes(answers) == [201, "json.malformed", 201]
    assert _kept(desk, "k-7") is None
    assert _codes(_answer(desk, _request(desk, 7))) == [201]


def test_another_record_under_a_used_key_is_refused_alone(desk: VerdictDesk) -> None:
    _answer(desk, _request(desk, 1))
    head = desk.head()
    answers = _answer(desk, _request(desk, 2, key="k-1"), _request(desk, 1))
    assert _codes(answers) == ["request.key_reused", 201]
    assert desk.head() == head


def test_a_record_that_is_known_is_answered_so_under_every_new_key(desk: VerdictDesk) -> None:
    """Also where both come at once: the second finds what the first recorded, and its own answer is kept."""
    first, second = _answer(desk, _request(desk, 1), _request(desk, 1, key="other"))
    head = desk.head()
    again = _answer(desk, _request(desk, 1, key="other", later=1))[0]
    assert (first.status, second.status) == (201, 200)
    assert (again.status, again.body, again.is_kept) == (200, second.body, True)
    assert desk.head() == head


def test_a_key_that_was_used_between_the_look_and_the_commit_has_no_second_effect(desk: VerdictDesk) -> None:
    """As by a process that had the writer's place meanwhile; whoever waits beside it has its answer."""
    at = desk.at(minutes=6)
    begun = KeptRequest(
        principal_id=_SENDER, request_key="k-2", fingerprint=digest_of(b"other"), entry=1, begun_at=at, status=201
    )
    working = desk.tools
    desk.use(
        database=Meddling(working.database, lambda: working.database.write(lambda u: u.requests.begin(TENANT, begun)))
    )
    answers = _answer(desk, _request(desk, 1), _request(desk, 2), _request(desk, 3))
    assert _codes(answers) == [201, "request.in_hand", 201]
    assert len(desk.entries(EntryKind.VERDICT)) == 2


def test_what_was_begun_without_an_answer_is_judged_and_answered(desk: VerdictDesk) -> None:
    """A key of an earlier way of working, whose process ended before the answer was kept."""
    request = _request(desk, 1)
    assert request.keyed is not None
    begun = KeptRequest(
        principal_id=_SENDER,
        request_key="k-1",
        fingerprint=request.keyed.fingerprint,
        entry=1,
        begun_at=desk.at(minutes=5),
    )
    desk.tools.database.write(lambda unit: unit.requests.begin(TENANT, begun))
    assert _codes(_answer(desk, request)) == [201]
    kept = _kept(desk, "k-1")
    assert kept is not None
    assert (kept.entry, kept.status, kept.begun_at) == (1, 201, begun.begun_at)


def test_a_key_is_new_again_after_a_day(desk: VerdictDesk) -> None:
    _answer(desk, _request(desk, 1))
    later = int(KEPT.total_seconds()) + 1
    again = _answer(desk, _request(desk, 1, later=later))[0]
    assert (again.status, again.is_kept) == (200, False)
    kept = _kept(desk, "k-1")
    assert kept is not None
    assert kept.begun_at == Instant(desk.at(minutes=6) + timedelta(seconds=later))


def test_keys_are_looked_up_once_for_all_who_wait(desk: VerdictDesk) -> None:
    reads: list[int] = []
    inner = desk.tools.database

    class Counting:
        def read(self, work: Any) -> Any:  # noqa: ANN401 - any work
            reads.append(threading.get_ident())
            return inner.read(work)

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the real one has
            return getattr(inner, name)

    _answer(desk, *(_request(desk, n) for n in range(20)))
    sent = [_request(desk, n) for n in range(20)]
    desk.use(database=Counting())
    _answer(desk, *sent)
    assert len(reads) == 1
