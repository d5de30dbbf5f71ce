"""`assay.Client`: the same types and errors on both sides of the wire, and nothing done twice."""

import asyncio
import json
import subprocess
import sys
from hashlib import sha256
from typing import Any

import httpx
import pytest

import assay
from assay.flows.errors import NotFoundError
from assay.flows.request import FieldsError
from assay.flows.review.answer_bulk import Pick
from assay.flows.truth.observe import Observed
from assay.identity.errors import IdentityError
from assay.kernel.bundle import parse_bundle
from assay.kernel.errors import Error
from assay.node.facade import Node
from assay.operations.parse import parse_request
from assay.operations.table import BY_NAME
from assay.review.act import ActKind
from assay.review.errors import ReviewError
from assay.review.queue import QueueFilter
from assay.surfaces.client import (
    AsyncClient,
    Client,
    ProblemError,
    UnreachableNodeError,
)
from assay.surfaces.client.errors import ForeignAnswerError
from assay.surfaces.http.app import create_app
from assay.wiring import load_config
from tests.raising import raises
from tests.surfaces.http.v1._whole import Whole
from tests.truth.records import contract_text

_URL = "http://testserver.local"


def _client(whole: Whole, by: str = "operator") -> Client:
    return Client(_URL, key=whole.keys[by], http=whole.client, sleep=_never)


def _never(_seconds: float) -> None:
    raise AssertionError("nothing was to be sent again")


def test_the_client_and_a_node_have_one_name_for_one_journey(whole: Whole) -> None:
    """What is written against one is found on the other; the client lists what a node has as one value."""
    client, alone = set(dir(_client(whole))), {"close", "perform"}
    only_there = {
        # A node in this process calls its subscribers.
        "events",
        *("agreement", "entry", "checkpoint", "checkpoints", "graph_document", "key"),
        *("observation", "observations", "report_many", "gate_many", "service", "services"),
        *("indexes", "prove_search", "seal_index", "search", "sovereignty", "states", "verdict", "why"),
    }
    assert {name for name in client - alone if not name.startswith("_") and not hasattr(Node, name)} <= only_there


def test_the_desk_is_worked_at_from_the_client(whole: Whole) -> None:
    """In a person's session: claim, comment, draft, view, plan, answer, and the timeline that tells it."""
    rita = _client(whole, "rita")
    asked = whole.desk.ticket(eligible_roles=("reviewer",), about="client:1")
    (first,) = rita.queue(about="client:")
    assert first.ticket == asked
    rita.claim_ticket(asked.id, seconds=300)
    rita.prioritise_ticket(asked.id, "high")
    rita.assign_ticket(asked.id, role="reviewer")
    rita.comment_ticket(asked.id, "I know this one")
    rita.keep_draft(asked.id, choice="approve")
    seen = rita.desk_ticket(asked.id)
    assert (seen.draft is not None, len(seen.leases), seen.comments[0].text) == (True, 1, "I know this one")
    assert rita.drop_draft(asked.id).dropped
    rita.release_ticket(asked.id)
    assert rita.keep_view("mine", filter=QueueFilter(about="client:"), shared=True) in list(rita.views())
    assert [one.ticket.id for one in rita.queue(view="mine")] == [asked.id]
    assert rita.drop_view("mine").dropped
    plan = rita.plan_answers("approve", filter=QueueFilter(about="client:"))
    assert (plan.rehearsed, plan.accepted) == (True, 1)
    done = rita.answer_tickets("approve", picks=[Pick(ticket_id=asked.id, seen=asked.shown_hash)])
    assert (done.rehearsed, done.accepted) == (False, 1)
    rita.undo_answer(asked.id, reason="too soon")
    kinds = [one.kind.removeprefix("ticket.") for one in rita.timeline(asked.id)]
    told = ("opened", "claimed", "prioritised", "assigned", "commented", "released", "answer_held", "answer_undone")
    assert kinds == list(told)
    assert [one.by for one in rita.progress()] == [rita.why("GET /api/v1/desk/queue").principal_id]
    with raises(ReviewError.reviewer_key):
        rita.prepare_answer(asked.id, "approve", seen=asked.shown_hash)
    with raises(ReviewError.reviewer_key):
        rita.prepare_act(asked.id, act=ActKind.CLAIM)


def test_an_operator_asks_people_from_either_client(whole: Whole) -> None:
    """`shown` is a text or a document, and an instant is one."""
    asking: dict[str, Any] = {"eligible_roles": ["reviewer"], "about": "asked:1", "due_at": whole.later(days=9)}
    asked = _client(whole, "omar").open_ticket("sail", {"tide": "low"}, requested_by="user:amira", **asking)
    assert (asked.shown, asked.opened_by, asked.requested_by) == ('{"tide":"low"}', "user:omar", "user:amira")
    assert _client(whole, "rita").ticket(asked.id).ticket == asked

    async def ask() -> str:
        app: Any = create_app(whole.tools, load_config(whole.folder / "node"))
        http = httpx.AsyncClient(transport=httpx.ASGITransport(app))
        async with AsyncClient(_URL, key=whole.keys["omar"], http=http) as node:
            return (await node.open_ticket("sail", "tonight", quorum=2, **asking)).shown

    assert asyncio.run(ask()) == "tonight"
    with raises(IdentityError.role):
        _client(whole, "rita").open_ticket("sail", "tonight", **asking)


def test_what_is_sent_and_what_comes_back_have_their_types(whole: Whole) -> None:
    sensor, operator = _client(whole, "sensor"), _client(whole)
    done = sensor.observe(whole.observation(7000))
    assert isinstance(done, Observed)
    assert operator.observation("obs-7000").observation_hash == done.observation_hash
    assert operator.compile_state(done.truthkey).version >= 1
    assert operator.state(done.truthkey).truthkey == done.truthkey
    judged = sensor.evaluate(whole.record("c-1"))
    assert operator.verdicts_of("c-1").verdicts == judged.verdicts
    assert json.loads(operator.graph_document(operator.active_graph().document_hash))["nodes"]
    gated = _client(whole, "agent").gate(whole.bundle(7001)["bundle"])
    assert _client(whole, "agent").claim(gated.bundle_hash).gated.decision == gated.decision
    answered = _client(whole, "amira").ask(**whole.question())
    assert _client(whole, "amira").answer(answered.answer_id).output == "clear"
    assert _client(whole, "bell").outcome(whole.outcome(answer_id=answered.answer_id)).is_new
    receipt = operator.append({"n": 1})
    assert operator.entry(receipt.sequence_number).entry_hash == receipt.entry_hash
    assert operator.sign_checkpoint() == operator.checkpoint()
    proof = parse_bundle(operator.prove_entry(receipt.sequence_number))
    assert proof.entry_hash == receipt.entry_hash
    assert operator.principal("user:olga").principal.id == "user:olga"
    assert operator.rule("MAR-YK-007").rule_id == "MAR-YK-007"
    assert operator.agreement().observed >= 1
    released = operator.release_contract(contract_text("research_artifact_v1"))
    assert operator.contract(released.claim_type).claim_type_hash == released.claim_type_hash
    assert released in list(operator.contracts(limit=1))
    kept = _client(whole, "agent").attach_evidence(b"measured by hand")
    assert kept.evidence_hash == sha256(b"measured by hand").hexdigest()
    whole.delivery.fail(prefix="client")
    (newest, *_) = operator.root_causes(open=True)
    assert operator.root_cause(newest.item.item_id) == newest


def test_a_list_is_walked_through_all_of_its_pages(whole: Whole) -> None:
    operator = _client(whole)
    assert len(list(_client(whole, "sensor").evaluate_many([whole.record("walked")]))) == 1
    numbers = [one.sequence_number for one in operator.entries(limit=3)]
    assert numbers == list(range(1, whole.entries() + 1))
    assert [one.id for one in operator.principals(limit=1)] == [one.id for one in operator.principals()]
    assert {one.outcome.rule_id for one in operator.verdicts(subject="stack")} == {"r1"}


def test_lines_are_sent_in_requests_that_fit_and_numbered_through(whole: Whole) -> None:
    records: list[Any] = [whole.observation(number) for number in range(7100, 7104)]
    told = list(_client(whole, "sensor").observe_many([*records, "no JSON"]))
    assert [(one.line, one.status) for one in told] == [*((n, "recorded") for n in range(1, 5)), (5, "refused")]
    judged = list(_client(whole, "sensor").evaluate_many(whole.record(f"m-{n % 60}") for n in range(61)))
    assert [one.line for one in judged] == list(range(1, 62))
    assert [one.status for one in judged] == ["recorded"] * 60 + ["known"]
    assert [one.status for one in _client(whole, "bell").report_many([whole.outcome(query_context="m")])] == [
        "recorded"
    ]


def test_a_refusal_is_the_error_it_was_there(whole: Whole) -> None:
    """By its class where this version knows it, and always by its code; all that is wrong comes along."""
    with pytest.raises(NotFoundError) as caught:
        _client(whole).entry(10**9)
    assert isinstance(caught.value, ProblemError)
    assert (caught.value.code, caught.value.status) == ("flow.not_found", 404)
    with raises(IdentityError.role):
        _client(whole, "nobody").append({})
    with pytest.raises(ProblemError) as bundle:
        _client(whole, "agent").gate({"id": 1, "claims": []})
    assert bundle.value.code == "claims.bundle"
    assert {"/id", "/claims"} <= {one["field"] for one in bundle.value.problem.errors}
    # What the request's own type refuses is not sent at all.
    with pytest.raises(FieldsError) as fields:
        _client(whole, "agent").gate({}, questions={"c": 3})
    assert not isinstance(fields.value, ProblemError)


class _Flaky(httpx.BaseTransport):
    """Answers what it is told, in order, and remembers what was asked."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.asked.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def _problem(status: int, code: str, **headers: str) -> httpx.Response:
    body = {"type": "about:blank", "title": "", "status": status, "detail": "no", "code": code, "errors": []}
    return httpx.Response(status, json=body, headers=headers)


_RECEIPT = {"tenant_id": "t", "sequence_number": 1, "entry_hash": "sha256:0", "timestamp": "2026-01-07T12:00:00Z"}


def _flaky(*answers: httpx.Response | Exception, retries: int = 4) -> tuple[Client, _Flaky, list[float]]:
    transport, waits = _Flaky(*answers), list[float]()
    http = httpx.Client(transport=transport)
    return Client("http://node", key="k", http=http, retries=retries, sleep=waits.append), transport, waits


def test_a_change_is_sent_again_under_the_same_key_until_it_is_answered() -> None:
    """No answer, 503, 429 with its time to wait, and a twin still at work; then the answer."""
    client, transport, waits = _flaky(
        httpx.ReadTimeout("slow"),
        _problem(503, "store.busy"),
        _problem(429, "http.too_fast", **{"retry-after": "7"}),
        _problem(409, "request.in_hand", **{"retry-after": "1"}),
        httpx.Response(201, json=_RECEIPT),
    )
    assert client.append({"n": 1}).sequence_number == 1
    keys = {request.headers["idempotency-key"] for request in transport.asked}
    assert len(keys) == 1
    assert {request.content for request in transport.asked} == {b'{"note":{"n":1},"personal":[]}'}
    assert waits == [0.1, 0.2, 7.0, 1.0]


def test_two_changes_have_two_keys_and_reading_has_none() -> None:
    client, transport, _ = _flaky(
        *(httpx.Response(201, json=_RECEIPT) for _ in range(2)), _problem(404, "flow.not_found")
    )
    client.append({"n": 1})
    client.append({"n": 1})
    with pytest.raises(NotFoundError):
        client.entry(1)
    first, second, read = (request.headers.get("idempotency-key") for request in transport.asked)
    assert first != second
    assert read is None


def test_what_is_refused_for_good_is_not_sent_again() -> None:
    client, transport, waits = _flaky(_problem(409, "request.answer_lost"))
    with pytest.raises(ProblemError):
        client.append({"n": 1})
    assert (len(transport.asked), waits) == (1, [])


def test_patience_ends() -> None:
    client, transport, waits = _flaky(*(httpx.ConnectError("down") for _ in range(3)), retries=2)
    with pytest.raises(UnreachableNodeError):
        client.append({"n": 1})
    assert (len(transport.asked), len(waits)) == (3, 2)


def test_what_is_no_node_is_said_to_be_none() -> None:
    client, _, _ = _flaky(httpx.Response(502, text="<html>"), httpx.Response(200, text="[]"))
    with pytest.raises(ForeignAnswerError):
        client.agreement()
    with pytest.raises(ForeignAnswerError):
        client.agreement()


def test_lines_that_were_answered_are_told_before_what_ended_the_rest() -> None:
    """They are on disk there: whoever sends the rest again must know which."""
    told = '{"line":1,"status":"recorded"}\n{"line":null,"status":"refused","code":"store.busy","problem":"full"}\n'
    client, _, _ = _flaky(httpx.Response(200, text=told))
    answers = client.observe_many([{}, {}])
    assert next(answers).line == 1
    with pytest.raises(ProblemError) as caught:
        next(answers)
    assert caught.value.code == "store.busy"


def test_a_code_of_a_newer_node_is_still_told() -> None:
    client, _, _ = _flaky(_problem(418, "kettle.short"))
    with pytest.raises(ProblemError) as caught:
        client.agreement()
    assert (caught.value.code, isinstance(caught.value, Error)) == ("kettle.short", True)


def test_the_same_awaited(whole: Whole) -> None:
    app: Any = create_app(whole.tools, load_config(whole.folder / "node"))

    async def walk() -> None:
        http = httpx.AsyncClient(transport=httpx.ASGITransport(app))
        async with AsyncClient(_URL, key=whole.keys["operator"], http=http) as node:
            receipt = await node.append({"n": 2})
            numbers = [one.sequence_number async for one in node.entries(limit=5)]
            assert numbers == list(range(1, receipt.sequence_number + 1))
            with pytest.raises(NotFoundError):
                await node.entry(10**9)
        http = httpx.AsyncClient(transport=httpx.ASGITransport(app))
        async with AsyncClient(_URL, key=whole.keys["sensor"], http=http) as node:
            told = [one async for one in node.observe_many([whole.observation(7300)])]
            assert [(one.line, one.status) for one in told] == [(1, "recorded")]

    asyncio.run(walk())


def test_the_client_is_the_packages_own_and_loads_no_server() -> None:
    assert (assay.Client, assay.AsyncClient, assay.ProblemError) == (Client, AsyncClient, ProblemError)
    heavy = "litestar", "uvicorn", "prometheus_client"
    code = f"import assay, sys; assay.Client; print([one for one in {heavy!r} if one in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_a_bulk_operation_that_is_performed_by_name_gives_its_lines(whole: Whole) -> None:
    """As commands do beside a running server: the result is that of the flow, and not the text of the answer."""
    operation = BY_NAME["telemetry.evaluate_lines"]
    records = b"\n".join([json.dumps(whole.record("by-name")).encode(), b"{"])
    request = parse_request(operation, {"records": records, "explain": True})
    told = _client(whole, "sensor").perform(operation, request)
    assert [(one.status, one.code) for one in told] == [("recorded", None), ("refused", "json.malformed")]
    assert told[0].receipt["explained"][0]["rule_id"] == "r1"
