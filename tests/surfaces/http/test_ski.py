"""SKI over HTTP: what is sent is judged, recorded and answered with the strictest envelope, or refused with a code."""

import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.flows.ledger.audit_ledger import audit_ledger
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import EMPTY_DIGEST
from assay.kernel.signature import SignedKind, signing_message, verify_ed25519
from assay.ports.egress import EgressRefusedError
from assay.verdicts.envelope import Envelope, Verdict
from assay.verdicts.graph.hash import stamp_versions
from assay.verdicts.graph.open import SovereigntyMode
from assay.verdicts.reason import ReasonRequest
from tests.flows._node import damage
from tests.flows._verdicts import WEIGHTS, HonestModel, graph_document, opened_verdicts, rule
from tests.scale import scale
from tests.surfaces.http._court import Court, opened_court, served_court
from tests.surfaces.http._house import refused

_FIELDS = {
    "verdict",
    "reasoning",
    "kg_citations",
    "formalizable_assertions",
    "verifier_result",
    "model_provenance",
    "transcript_ref",
    "human_attestation",
    "notes",
    "verdict_path",
}


@pytest.fixture(scope="module")
def court(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Court]:
    """One node for the whole module: two rules of medium risk on one stack."""
    rules = (rule("so2"), rule("load", kind="must_be_at_least", metric="load", value=10))
    with opened_court(tmp_path_factory.mktemp("court"), *rules) as opened:
        yield opened


@pytest.fixture(scope="module")
def high(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Court]:
    """One where a rule is of high risk."""
    with opened_court(tmp_path_factory.mktemp("high"), rule("so2", "high"), rule("nox", metric="nox")) as opened:
        yield opened


@pytest.mark.clause("ski", "4.2")
@pytest.mark.clause("ski", "5.5")
def test_the_strictest_envelope_is_served_and_the_rest_is_named_in_its_notes(court: Court) -> None:
    """Exactly the fields of SKI 4.2; a clear rule beside a breached one is a note, and both are entries."""
    answer = court.evaluate({"so2": 48.5, "load": 80}, name="strict-1")
    assert answer.status_code == 200, answer.text
    envelope = msgspec.json.decode(answer.content, type=Envelope)
    assert set(answer.json()) == _FIELDS
    assert envelope.verdict is Verdict.FLAG
    sequence = answer.headers["assay-sequence-number"]
    assert any(note.startswith(f"rule: so2 entry {sequence} sha256:") for note in envelope.notes)
    assert any(note.startswith("other rule: load entry ") and " CLEAR " in note for note in envelope.notes)
    entry = court.get(f"/api/v1/entries/{sequence}/text")
    assert (entry.status_code, "48.5" in entry.text) == (200, True)


def test_the_same_record_again_is_answered_with_what_is_recorded(court: Court) -> None:
    """No model is asked twice; another content under the id is a conflict."""
    first = court.evaluate({"so2": 5, "load": 80}, name="again-1")
    again = court.evaluate({"so2": 5, "load": 80}, name="again-1")
    assert (first.headers["assay-is-new"], again.headers["assay-is-new"]) == ("true", "false")
    assert first.content == again.content
    refused(court.evaluate({"so2": 99, "load": 80}, name="again-1"), 409, "telemetry.conflict")


@pytest.mark.clause("ski", "5.4")
def test_a_held_verdict_is_never_served_as_a_verdict(high: Court) -> None:
    """While a person is asked: 202 with the ticket, and no verdict in the list; a FLAG beside it stands at once."""
    held = high.evaluate({"so2": 10, "nox": 1}, name="held-1")
    assert held.status_code == 202, held.text
    rules = {one["rule_id"]: one for one in held.json()["rules"]}
    assert (rules["so2"]["verdict"], rules["so2"]["standing"]) == (None, "held")
    listed = [one for one in high.get("/api/verdicts").json()["verdicts"] if one["telemetry_id"] == "held-1"]
    waiting = next(one for one in listed if one["rule_id"] == "so2")
    assert (waiting["verdict"], waiting["envelope"], waiting["ticket_id"]) == (None, None, rules["so2"]["ticket_id"])
    assert "reasoning" not in held.text
    flagged = high.evaluate({"so2": 10, "nox": 99}, name="held-2")
    assert flagged.json()["verdict"] == "FLAG"
    assert any("so2" in note and "held, ticket" in note for note in flagged.json()["notes"])


@pytest.mark.clause("ski", "5.4")
def test_an_attested_verdict_is_served_when_the_record_is_asked_for_again(high: Court) -> None:
    """The final entry stands in the place of the held one, and says which it settles."""
    held = high.evaluate({"so2": 11, "nox": 1}, name="attest-1").json()
    waiting = next(one for one in held["rules"] if one["rule_id"] == "so2")
    high.desk.attest(waiting["ticket_id"], at=high.desk.tools.clock.now())
    served = high.evaluate({"so2": 11, "nox": 1}, name="attest-1")
    assert (served.status_code, served.json()["verdict"]) == (200, "CLEAR")
    final = next(one for one in high.get("/api/verdicts?limit=5").json()["verdicts"] if one["settles"] is not None)
    assert (final["settles"], final["verdict"]) == (waiting["sequence_number"], "CLEAR")


def test_pages_are_the_newest_first_and_end(court: Court) -> None:
    """`offset` goes on where the page before ended; each verdict is listed once."""
    for number in range(3):
        court.evaluate({"so2": number, "load": 80}, name=f"page-{number}")
    seen: list[int] = []
    offset: int | None = 0
    while offset is not None:
        page = court.get(f"/api/verdicts?limit=4&offset={offset}").json()
        seen += [one["sequence_number"] for one in page["verdicts"]]
        offset = page["next_offset"]
    assert seen == sorted(set(seen), reverse=True)
    assert len(seen) >= 6
    refused(court.get("/api/verdicts?limit=0"), 422, "http.fields")
    refused(court.get("/api/verdicts", key=court.desk.sensor), 403, "identity.role")


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"timestamp": "2026-01-07T12:00:00"}, 422, "telemetry.form"),
        ({"timestamp": 5}, 422, "telemetry.form"),
        ({"timestamp": "2999-01-01T00:00:00Z"}, 422, "telemetry.skew"),
        ({"subject": ""}, 422, "telemetry.form"),
        ({"measurement": []}, 422, "telemetry.form"),
        ({"measurement": {"so2": [1]}}, 422, "telemetry.form"),
        ({"jurisdictoin": "EU"}, 422, "telemetry.form"),
        ({"tenant_id": "other"}, 404, "identity.other_tenant"),
    ],
)
def test_a_record_that_is_none_is_refused_with_every_problem(
    court: Court, change: dict[str, Any], status: int, code: str
) -> None:
    """A coded 4xx with `detail`, never a 500, and nothing is recorded."""
    before = court.http.tools.database.read(lambda unit: unit.ledger.head(court.tenant).sequence_number)
    record = {**court.desk.record({"so2": 1}, name="bad", at=court.desk.start), **change}
    problem = refused(court.post("/api/evaluate", record), status, code)
    assert problem["detail"]
    after = court.http.tools.database.read(lambda unit: unit.ledger.head(court.tenant).sequence_number)
    assert after == before


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"so2": NaN}', "json.non_finite"),
        ('{"so2": Infinity}', "json.non_finite"),
        ('{"so2": 1e400}', "json.number_range"),
        ('{"so2": 123456789012345678901234567890}', "json.number_range"),
        ('{"so2": 1, "so2": 2}', "json.duplicate_key"),
    ],
)
def test_numbers_that_are_none_never_reach_a_rule(court: Court, text: str, code: str) -> None:
    """NaN, infinities and numbers that binary64 would change are refused by the reader."""
    body = f'{{"id": "n", "timestamp": "2026-01-07T12:00:00Z", "subject": "stack", "measurement": {text}}}'
    answer = court.post("/api/evaluate", body.encode())
    assert (answer.status_code, answer.json()["code"]) == (422, code)


@pytest.mark.clause("ski", "4.1")
@pytest.mark.parametrize(
    ("measurement", "verdict"),
    [
        ({"so2": "48", "load": 80}, "DISCRETIONARY"),
        ({"so2": True, "load": 80}, "DISCRETIONARY"),
        ({"so2": None, "load": 80}, "DISCRETIONARY"),
        ({"load": 80}, "DISCRETIONARY"),
        ({"so2": 9007199254740991, "load": 80}, "FLAG"),
        ({"so2": -1e300, "load": 80}, "CLEAR"),
    ],
    ids=["text", "boolean", "null", "missing", "huge", "very small"],
)
def test_what_cannot_be_compared_is_a_person_s_to_judge(
    court: Court, measurement: dict[str, object], verdict: str, request: pytest.FixtureRequest
) -> None:
    """A text is no number and true is not 1; nothing missing is compliant, and a huge number is only a number."""
    answer = court.evaluate(measurement, name=f"odd-{request.node.callspec.id}")
    assert (answer.status_code, answer.json()["verdict"]) == (200, verdict)


@pytest.mark.clause("ski", "4.1")
def test_an_unknown_subject_is_null_unmapped(court: Court) -> None:
    answer = court.evaluate({"so2": 1}, name="unknown", subject="chimney")
    assert (answer.status_code, answer.json()["verdict"]) == (200, "NULL_UNMAPPED")


@given(
    body=st.one_of(
        st.binary(max_size=200),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=8),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
            max_leaves=12,
        ).map(lambda value: json.dumps(value).encode()),
        st.fixed_dictionaries(
            {
                "id": st.text(min_size=1, max_size=12),
                "timestamp": st.just("2026-01-07T12:00:00Z"),
                "subject": st.sampled_from(["stack", "other", "\u202e"]),
                "measurement": st.dictionaries(
                    st.sampled_from(["so2", "load", "so2.value", "x"]),
                    st.one_of(
                        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=9),
                        st.fixed_dictionaries({"value": st.floats() | st.text(max_size=3), "unit": st.text()}),
                    ),
                    max_size=3,
                ),
            }
        ).map(lambda value: json.dumps(value).encode()),
    )
)  # fmt: skip
@settings(max_examples=scale(60, 2000), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_sent_is_a_verdict_or_a_coded_refusal(court: Court, body: bytes) -> None:
    """Never a 500: a specified verdict, or a 4xx with a code and a `detail`."""
    answer = court.post("/api/evaluate", body)
    if answer.status_code == 200:
        assert answer.json()["verdict"] in set(Verdict)
    else:
        assert 400 <= answer.status_code < 500, answer.text
        assert answer.json()["code"]
        assert answer.json()["detail"]


def test_sixty_four_clients_lose_nothing_and_the_chain_holds(court: Court) -> None:
    """Every answer is one record's, every record is recorded once, and the ledger verifies."""
    names = [f"many-{number}" for number in range(scale(64, 640))]
    with ThreadPoolExecutor(64) as pool:
        answers = list(pool.map(lambda name: court.evaluate({"so2": 40, "load": 80}, name=name), names))
    assert {answer.json()["verdict"] for answer in answers} == {"FLAG"}
    assert len({answer.headers["assay-sequence-number"] for answer in answers}) == len(names)
    tools = court.http.tools
    rows = tools.database.read(lambda unit: list(unit.verdicts.all(court.tenant)))
    assert {row.telemetry_id for row in rows} >= set(names)
    assert audit_ledger(tools, court.tenant, leave_mark=False).holds


def test_a_model_that_takes_its_time_holds_up_nobody_else(tmp_path: Path) -> None:
    """The loop answers while a model thinks: judging is on threads of its own."""
    thinking, done = threading.Event(), threading.Event()
    with opened_verdicts(tmp_path) as desk:
        desk.judge_by(rule("so2"))
        model = desk.model
        assert model is not None

        def slow(request: ReasonRequest) -> str:
            thinking.set()
            assert done.wait(30)
            return model(request)

        desk.thinks(slow)
        with served_court(desk, tmp_path) as court, ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(court.evaluate, {"so2": 1}, name="slow")
            assert thinking.wait(30)
            assert court.get("/healthz").status_code == 200
            assert court.get("/api/canary").json()["status"] == "no_data"
            done.set()
            assert waiting.result().json()["verdict"] == "CLEAR"


def test_a_node_without_a_graph_or_a_model_says_so(tmp_path: Path) -> None:
    """No graph is the operator's to load (409), no model makes the service unavailable; health is degraded."""
    with opened_verdicts(tmp_path) as desk:
        with served_court(desk, tmp_path) as bare:
            refused(bare.evaluate({"so2": 1}), 409, "verdict.no_graph")
            health = bare.client.get("/api/health").json()
            assert (health["status"], health["problems"]) == ("degraded", ["verdict.no_model"])
            assert bare.sample("ski_kg_signature_verified", tenant=bare.tenant) is None
        desk.load(desk.release(graph_document(rule("so2"))).document)
        with served_court(desk, tmp_path) as mute:
            refused(mute.evaluate({"so2": 1}), 503, "verdict.no_model")


@pytest.mark.clause("ski", "6.2")
def test_unmet_sovereignty_stops_every_record_and_names_each_check(tmp_path: Path) -> None:
    """Strict mode: the refusal lists what is not met, and nothing is recorded."""
    with opened_verdicts(tmp_path) as desk:
        desk.judge_by(rule("so2"))
        desk.settings(weights=(), is_backend_tagged=False)
        with served_court(desk, tmp_path) as court:
            problem = refused(court.evaluate({"so2": 1}), 503, "sovereignty.unmet")
            assert [one["field"] for one in problem["errors"]] == ["1 backend", "2 weights"]
            assert court.get("/api/verdicts").json()["verdicts"] == []


@pytest.mark.clause("ski", "3.5")
def test_only_a_signed_reviewed_and_valid_graph_comes_into_use_over_http(tmp_path: Path) -> None:
    """Unsigned, altered, unreviewed, defective and older graphs are refused with their codes; the good one is used."""
    draft = graph_document(rule("so2"))
    with opened_court(tmp_path) as court:
        desk = court.desk
        refused(court.post("/api/kg/load", draft), 422, "graph.unsigned")
        signed = desk.release(draft).document
        refused(court.post("/api/kg/load", signed, key=desk.sensor), 403, "identity.role")
        refused(court.post("/api/kg/load", signed.replace(b'"value":35', b'"value":36')), 422, "graph.altered")
        loaded = court.post("/api/kg/load", signed)
        assert loaded.status_code == 200, loaded.text
        assert (loaded.json()["signature_verified"], loaded.json()["reviewers"]) == (True, 1)
        older = desk.release(graph_document(rule("so2"), compiled_at="2020-01-01T00:00:00Z")).document
        refused(court.post("/api/kg/load", older), 409, "graph.downgraded")
        assert court.sample("ski_kg_signature_verified", tenant=court.tenant) == 1.0


@pytest.mark.clause("ski", "3.6")
def test_a_defective_graph_is_refused_with_every_issue(tmp_path: Path) -> None:
    """Each with its node, its code, and what to do."""
    document = json.loads(graph_document(rule("so2"), rule("low", kind="must_be_at_least", value=40)))
    document["edges"] = [edge for edge in document["edges"] if edge["type"] != "cited_by"]
    with opened_verdicts(tmp_path) as desk:
        desk.settings(mode=SovereigntyMode.ADVISORY)
        with served_court(desk, tmp_path) as court:
            problem = refused(court.post("/api/kg/load", document), 422, "graph.invalid")
            codes = {one["message"].split(":")[0] for one in problem["errors"]}
            assert {"CONTRADICTORY_OBLIGATIONS", "MISSING_CITATION"} <= codes
            refused(court.post("/api/kg/load", {"rules": 5}), 422, "graph.form")


@pytest.mark.clause("ski", "3.5")
def test_an_unsigned_graph_is_used_in_advisory_mode_under_the_empty_hash(tmp_path: Path) -> None:
    """The envelope records the hash of no bytes, the answer carries the notice, and the figure says 0."""
    document = graph_document(rule("so2"))
    with opened_verdicts(tmp_path) as desk:
        desk.settings(mode=SovereigntyMode.ADVISORY)
        desk.thinks(HonestModel(document))
        with served_court(desk, tmp_path) as court:
            loaded = court.post("/api/kg/load", document).json()
            assert (loaded["signature_verified"], loaded["kg_version_hash"]) == (False, EMPTY_DIGEST)
            assert [one["code"] for one in loaded["notices"]] == ["unsigned"]
            envelope = court.evaluate({"so2": 1}).json()
            assert envelope["model_provenance"]["kg_version_hash"] == EMPTY_DIGEST
            assert court.sample("ski_kg_signature_verified", tenant=court.tenant) == 0.0


@pytest.mark.clause("ski", "3.5")
@pytest.mark.clause("ski", "11.3")
@pytest.mark.parametrize("route", ["/api/kg/load", "/api/v1/graphs"])
def test_an_unsigned_graph_and_a_deprecated_track_are_in_the_log(
    tmp_path: Path, route: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A line each, whichever route brought the graph."""
    document = json.loads(graph_document(rule("so2")))
    document["nodes"]["rules"][0]["track"] = "a"
    with opened_verdicts(tmp_path) as desk:
        desk.settings(mode=SovereigntyMode.ADVISORY)
        with served_court(desk, tmp_path) as court:
            assert court.post(route, stamp_versions(document)).is_success
    told = {(one.getMessage().partition(":")[0], one.levelname) for one in caplog.records if one.name == "assay.ski"}
    assert told == {("unsigned", "WARNING"), ("track_deprecated", "WARNING")}


@pytest.mark.clause("ski", "9.2")
def test_the_canary_has_its_fields_and_counts_what_the_verifier_said(court: Court) -> None:
    """As clients know it; healthy while the model agrees with the rules."""
    court.evaluate({"so2": 1, "load": 80}, name="canary")
    canary = court.get("/api/canary", key=court.desk.sensor).json()
    assert set(canary) == {
        "window_size", "threshold", "observed", "counts", "agreement_rate", "is_healthy", "status",
    }  # fmt: skip
    assert (canary["is_healthy"], canary["status"], canary["agreement_rate"]) == (True, "healthy", 1.0)


@pytest.mark.clause("ski", "6.4")
def test_the_sovereignty_document_is_signed_by_the_deployment_s_key(court: Court) -> None:
    """All fields of SKI 6.4; the signature covers the document without `key_id` and `signature_hex`."""
    document = court.get("/api/sovereignty", key=court.desk.sensor).json()
    signer = court.http.tools.ledger_signer
    assert document.pop("key_id") == signer.key_id
    signature = bytes.fromhex(document.pop("signature_hex"))
    assert document["model_weight_hash"] == WEIGHTS
    assert document["kg_version_hash"].startswith("sha256:")
    assert signer.public_key is not None
    message = signing_message(SignedKind.SOVEREIGNTY, canonicalize(document))
    verify_ed25519(signer.public_key, message, signature)
    assert court.client.get("/api/sovereignty").status_code == 401


@pytest.mark.clause("ski", "6.3")
def test_the_figures_that_ski_names_are_served(court: Court) -> None:
    """Verdicts by value, the rate, the signature, durations, attempts to leave and gaps."""
    before = court.sample("ski_verdicts_total", tenant=court.tenant, verdict="FLAG") or 0.0
    court.evaluate({"so2": 99, "load": 80}, name="figures")
    text = court.get("/metrics").text
    assert f'ski_agreement_rate{{tenant="{court.tenant}"}} 1.0' in text
    assert "ski_egress_attempts_total 0.0" in text
    assert f'ski_ledger_sequence_gaps_total{{tenant="{court.tenant}"}} 0.0' in text
    assert court.sample("ski_verdicts_total", tenant=court.tenant, verdict="FLAG") == before + 1
    assert (court.sample("ski_evaluation_duration_seconds_count") or 0) > 0


@pytest.mark.clause("ski", "6.3")
def test_an_attempt_to_leave_is_counted_and_closes_evaluation(tmp_path: Path) -> None:
    """One is enough: every later record is refused with 503, the figure and the health say why."""
    with opened_court(tmp_path, rule("so2")) as court:
        guard = court.http.tools.guard
        assert guard is not None
        assert court.evaluate({"so2": 1}, name="before").status_code == 200
        with guard.watching(), pytest.raises(EgressRefusedError):
            socket.getaddrinfo("example.org", 443)
        refused(court.evaluate({"so2": 1}, name="after"), 503, "sovereignty.egress")
        assert court.sample("ski_egress_attempts_total") == 1.0
        assert court.client.get("/api/health").json()["problems"] == ["sovereignty.egress"]
        assert court.get("/api/sovereignty").json()["egress_attempts_total"] == 1


@pytest.mark.clause("ski", "7.1")
def test_an_entry_that_is_gone_is_counted_as_a_gap(tmp_path: Path) -> None:
    """Taken out of the file behind the node's back."""
    with opened_verdicts(tmp_path) as desk:
        desk.judge_by(rule("so2"))
        damage(tmp_path / "node", "DELETE FROM ledger WHERE sequence_number = 7")
        with served_court(desk, tmp_path) as court:
            assert court.sample("ski_ledger_sequence_gaps_total", tenant=court.tenant) == 1.0


def test_health_is_open_and_tells_what_runs(court: Court) -> None:
    health = court.client.get("/api/health")
    assert (health.status_code, health.json()["status"]) == (200, "ok")
    assert (health.json()["sovereignty"], health.json()["runtime"]) == ("strict", "v3")


@pytest.mark.clause("ski", "11.4")
def test_the_second_runtime_answers_without_an_envelope(tmp_path: Path) -> None:
    """`SKI_RUNTIME_VERSION=v2`: rules alone, schema 2.1.0, no model in it."""
    with opened_verdicts(tmp_path) as desk:
        desk.judge_by(rule("so2"))
        desk.settings(is_v2=True)
        with served_court(desk, tmp_path) as court:
            answer = court.evaluate({"so2": 99}, name="v2").json()
            assert (answer["verdict"], answer["schema_version"], answer["rule_id"]) == ("FLAG", "2.1.0", "so2")
            assert court.client.get("/api/health").json()["runtime"] == "v2"
