"""A request with a key: one effect, one answer, whoever sends it again and whatever ended in between."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from assay.flows.answer_once import KEPT, KeyedRequest, Reply, RequestsInHand, answer_once, forget_requests
from assay.flows.errors import FlowError, NotFoundError
from assay.flows.errors.delivery import AnswererError
from assay.flows.errors.truth import TruthFlowError
from assay.flows.ledger.append_record import append_record
from assay.flows.ledger.erase_record import erase_record
from assay.flows.tools import Tools
from assay.kernel.commitment import seal_fields
from assay.kernel.digest import digest_of
from assay.kernel.errors import Error
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind, draft_entry
from tests.flows._node import TENANT, new_node, opened

_REQUEST = KeyedRequest(
    tenant_id=TENANT,
    principal_id=PrincipalId("svc:writer"),
    request_key="k-1",
    fingerprint=digest_of(b"POST /x\n{}"),
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_node(tmp_path_factory.mktemp("once"))


@pytest.fixture
def tools(home: Path) -> Iterator[Tools]:
    with opened(home) as found:
        found.database.write(lambda unit: unit.requests.forget(before=Instant(found.clock.now() + KEPT)))
        yield found


def _append(tools: Tools) -> Reply:
    receipt = append_record(tools, TENANT, {"n": 1}, at=tools.clock.now()).result()
    return Reply(status=201, body=b'{"entry":%d}' % receipt.sequence_number, headers={"location": "/e"})


def _refuse(tools: Tools) -> Reply:
    _append(tools)
    raise NotFoundError("expected another, got this")


def _problem(error: Error) -> Reply:
    return Reply(status=404, body=error.code.encode())


def _once(
    tools: Tools, request: KeyedRequest = _REQUEST, work: object = _append, *, later: timedelta | None = None
) -> Reply:
    assert callable(work)
    at = Instant(tools.clock.now() + (later or timedelta()))
    return answer_once(tools, request, work, refused=_problem, in_hand=RequestsInHand(), at=at)


def _entries(tools: Tools) -> int:
    return tools.database.read(lambda unit: unit.ledger.head(TENANT).sequence_number)


@contextmanager
def _refused(code: str) -> Iterator[None]:
    with pytest.raises(FlowError) as caught:
        yield
    assert caught.value.code == code


def _name(tools: Tools) -> Reply:
    body, disclosures = seal_fields({"name": "Wilhelmina Slater"}, ["/name"], [b"s" * 16])
    draft = draft_entry(TENANT, EntryKind.NOTE, body, at=tools.clock.now(), disclosures=disclosures)
    receipt = tools.database.append(draft)
    return Reply(status=201, body=b'{"name":"Wilhelmina Slater","entry":%d}' % receipt.sequence_number)


def test_an_erasure_removes_the_answers_that_were_kept_before_it(tools: Tools, home: Path) -> None:
    """The same key again neither replays the erased value nor takes effect twice; later answers are kept."""
    _once(tools, work=_name)
    erase_record(tools, TENANT, _entries(tools), by=PrincipalId("user:olga"), reason="asked", at=tools.clock.now())
    for file in home.glob("assay.db*"):
        assert b"Wilhelmina" not in file.read_bytes(), file.name
    entries = _entries(tools)
    with _refused("request.answer_lost"):
        _once(tools, work=_name)
    assert _entries(tools) == entries
    later = replace(_REQUEST, request_key="k-2")
    assert _once(tools, later) == replace(_once(tools, later), is_kept=False)


def test_the_same_request_again_is_answered_the_same_and_does_nothing(tools: Tools) -> None:
    first = _once(tools)
    entries = _entries(tools)
    again = _once(tools)
    assert (again.status, again.body, again.headers) == (first.status, first.body, first.headers)
    assert (first.is_kept, again.is_kept) == (False, True)
    assert _entries(tools) == entries


def test_the_answer_outlives_the_process(home: Path, tools: Tools) -> None:
    first = _once(tools)
    tools.database.close()
    with opened(home) as later:
        assert _once(later).body == first.body


def test_a_key_belongs_to_one_content(tools: Tools) -> None:
    """Another body under the same key is refused, and nothing is done."""
    _once(tools)
    entries = _entries(tools)
    with _refused("request.key_reused"):
        _once(tools, replace(_REQUEST, fingerprint=digest_of(b"another")))
    assert _entries(tools) == entries


def test_a_key_belongs_to_one_principal(tools: Tools) -> None:
    first = _once(tools)
    other = _once(tools, replace(_REQUEST, principal_id=PrincipalId("svc:other"), fingerprint=digest_of(b"another")))
    assert not other.is_kept
    assert other.body != first.body


def test_a_key_is_forgotten_after_a_day(tools: Tools) -> None:
    """Asked a day later it is new; and the rows are gone once somebody tidies."""
    first = _once(tools)
    later = _once(tools, later=KEPT + timedelta(minutes=1))
    assert (later.is_kept, later.body != first.body) == (False, True)
    assert forget_requests(tools, at=Instant(tools.clock.now() + 3 * KEPT)) == 1


def test_a_refusal_that_left_a_trace_is_kept_and_one_that_left_none_is_not(tools: Tools) -> None:
    """A claim that is no claim is recorded as refused: sent again, it is not recorded again."""
    with _refused("flow.not_found"):
        _once(tools, work=_refuse)
    entries = _entries(tools)
    again = _once(tools, work=_refuse)
    assert (again.status, again.body, again.is_kept) == (404, b"flow.not_found", True)
    assert _entries(tools) == entries

    def only_refuse(_tools: Tools) -> Reply:
        raise NotFoundError("expected another, got this")

    free = replace(_REQUEST, request_key="k-2")
    with _refused("flow.not_found"):
        _once(tools, free, only_refuse)
    assert not _once(tools, free).is_kept


def test_a_refusal_that_asks_to_come_again_is_not_kept(tools: Tools) -> None:
    """A busy key or a database that cannot be reached is over sometime: it would else be refused for a day."""

    def busy(tools: Tools) -> Reply:
        _append(tools)
        raise TruthFlowError.busy("expected a quiet key, got a busy one")

    def unavailable(error: Error) -> Reply:
        return Reply(status=503, body=error.code.encode())

    repeatable = replace(_REQUEST, is_repeatable=True)
    with _refused("truth.busy"):
        answer_once(
            tools, repeatable, busy, refused=unavailable, in_hand=RequestsInHand(), at=Instant(tools.clock.now())
        )
    again = _once(tools, repeatable)
    assert (again.status, again.is_kept) == (201, False)


def test_an_effect_without_its_answer_is_never_had_twice(tools: Tools) -> None:
    """The process ended between the two: the ledger has the effect, and the caller is told after which entry."""

    class _Ended(BaseException):
        """As if the power went."""

    def end(tools: Tools) -> Reply:
        _append(tools)
        raise _Ended

    before = _entries(tools)
    with pytest.raises(_Ended):
        _once(tools, work=end)
    with pytest.raises(FlowError, match=f"after entry {before}") as caught:
        _once(tools)
    assert caught.value.code == "request.answer_lost"
    assert _entries(tools) == before + 1

    # Where doing it again finds what is there, it is done again, and then its answer is kept.
    repeatable = replace(_REQUEST, is_repeatable=True)
    assert not _once(tools, repeatable).is_kept
    assert _once(tools, repeatable).is_kept


def test_what_failed_without_effect_may_be_tried_again_under_its_key(tools: Tools) -> None:
    """That it failed is on record; whoever sends it again, as clients do, is not told that it took effect."""

    def fail(tools: Tools) -> Reply:
        _append(tools)
        raise AnswererError("the answerer failed")

    before = _entries(tools)
    for _ in range(2):
        with _refused("delivery.answerer"):
            _once(tools, work=fail)
    assert (_once(tools).status, _entries(tools)) == (201, before + 3)
    assert _once(tools).is_kept


def test_a_failed_effect_leaves_no_key_behind(tools: Tools) -> None:
    """All of the first write or none of it: also the note of the key."""

    def fail(tools: Tools) -> Reply:
        def work(_unit: object) -> Reply:
            raise NotFoundError("expected another, got this")

        return tools.database.write(work)

    with _refused("flow.not_found"):
        _once(tools, work=fail)
    key = _REQUEST.request_key
    assert tools.database.read(lambda unit: unit.requests.find(TENANT, _REQUEST.principal_id, key)) is None


def test_a_twin_is_told_that_the_first_is_at_work(tools: Tools) -> None:
    in_hand, began, may_end = RequestsInHand(), threading.Event(), threading.Event()
    replies: list[Reply] = []

    def slow(tools: Tools) -> Reply:
        began.set()
        assert may_end.wait(30)
        return _append(tools)

    def first() -> None:
        replies.append(answer_once(tools, _REQUEST, slow, refused=_problem, in_hand=in_hand, at=tools.clock.now()))

    thread = threading.Thread(target=first)
    thread.start()
    assert began.wait(30)
    with _refused("request.in_hand"):
        answer_once(tools, _REQUEST, _append, refused=_problem, in_hand=in_hand, at=tools.clock.now())
    may_end.set()
    thread.join(30)
    again = answer_once(tools, _REQUEST, _append, refused=_problem, in_hand=in_hand, at=tools.clock.now())
    assert (again.is_kept, again.body) == (True, replies[0].body)


def test_a_twin_in_another_process_that_was_first_leaves_nothing_for_the_second(tools: Tools) -> None:
    """Both looked before either wrote; the second's write finds the key and is undone whole."""

    def overtaken(inner: Tools) -> Reply:
        _once(tools)
        return _append(inner)

    before = _entries(tools)
    with _refused("request.in_hand"):
        _once(tools, work=overtaken)
    assert _entries(tools) == before + 1
    assert _once(tools).is_kept
