"""Evaluation stays on the operator's own ground, or does not take place."""

import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from assay.adapters.egress.guard import ProcessEgressGuard
from assay.adapters.egress.perimeter import Perimeter
from assay.delivery.webhook import Webhook
from assay.flows.delivery.delivery_entry import delivery_entry
from assay.flows.errors.verdicts import SovereigntyError
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.verdicts.shelves import EgressShelf
from assay.flows.verdicts.sovereignty import attest_sovereignty, check_node_sovereignty, count_egress, is_egress_open
from assay.kernel.digest import EMPTY_DIGEST, ZERO_DIGEST
from assay.kernel.ids import PrincipalId
from assay.kernel.key import TrustAnchors
from assay.kernel.ledger import EntryKind
from assay.kernel.signature import verify_ed25519
from assay.ports.model import ModelUnavailableError
from assay.verdicts.envelope import Verdict
from assay.verdicts.graph.open import SovereigntyMode
from assay.verdicts.sovereignty import Place, PlaceKind, sovereignty_message
from tests.contract._kit import refused
from tests.flows._node import TENANT, damage
from tests.flows._verdicts import WEIGHTS, VerdictDesk, opened_verdicts, rule
from tests.verdict_calls import clear_egress

_REMOTE = Place(kind=PlaceKind.REMOTE, address="db.example:5432")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[VerdictDesk]:
    with opened_verdicts(tmp_path) as opened:
        opened.judge_by(rule("limit"))
        yield opened


def _leaves(desk: VerdictDesk) -> None:
    """A model that tries to reach another machine, and answers whatever came of it."""

    def think(request: Any) -> str:  # noqa: ANN401 - the request
        with suppress(OSError):
            socket.getaddrinfo("example.invalid", 443)
        assert desk.model is not None
        return desk.model(request)

    desk.thinks(think)


@pytest.mark.clause("ski", "6.1")
@pytest.mark.clause("ski", "6.2")
@pytest.mark.parametrize(
    ("change", "check"),
    [
        ({"is_backend_tagged": False}, "1 backend"),
        ({"weights": ()}, "2 weights"),
        ({"ledger_place": _REMOTE}, "4 ledger"),
        ({"ledger_place": None}, "4 ledger"),
        ({"evaluation_egress": ("api.example",)}, "5 egress"),
    ],
    ids=str,
)
def test_strict_mode_evaluates_nothing_while_a_check_is_unmet(
    desk: VerdictDesk, change: dict[str, Any], check: str
) -> None:
    """Each of the five, with a report of all; advisory mode goes on."""
    desk.settings(**change)
    with pytest.raises(SovereigntyError) as caught:
        desk.decide({"so2": 30})
    assert [one.check for one in caught.value.findings if not one.is_met] == [check]
    assert len(caught.value.findings) == 5
    desk.settings(mode=SovereigntyMode.ADVISORY)
    assert desk.decide({"so2": 30}).overall.verdict is Verdict.CLEAR


@pytest.mark.clause("ski", "6.2")
def test_without_an_anchor_of_the_operator_nothing_is_evaluated(desk: VerdictDesk) -> None:
    desk.use(anchors=TrustAnchors())
    with refused("sovereignty.unmet"):
        desk.decide({"so2": 30})


def test_an_address_counts_as_local_only_when_exactly_it_is_tagged(desk: VerdictDesk) -> None:
    desk.settings(ledger_place=_REMOTE, deployment_local=("db.example",))
    with refused("sovereignty.unmet"):
        desk.decide({"so2": 30})
    desk.settings(deployment_local=("db.example:5432",))
    assert desk.decide({"so2": 30}).is_new


@pytest.mark.clause("ski", "6.3")
def test_an_attempt_to_leave_stops_this_and_every_later_evaluation(desk: VerdictDesk) -> None:
    """No verdict of it is recorded, and the next record is refused although its model behaves."""
    head = desk.head()
    good = desk.tools.reasoner
    _leaves(desk)
    with refused("sovereignty.egress"):
        desk.decide({"so2": 30})
    desk.use(reasoner=good)
    with refused("sovereignty.egress"):
        desk.decide({"so2": 30})
    assert desk.head() == head + 1
    assert desk.tools.guard is not None
    assert desk.tools.guard.attempts == 1


def _restarted(desk: VerdictDesk) -> None:
    """As another process sees it: a guard that has counted nothing, a shelf that remembers nothing."""
    desk.use(guard=ProcessEgressGuard(Perimeter(), is_strict=True), egress=EgressShelf())


@pytest.mark.clause("ski", "6.3")
def test_an_attempt_survives_a_restart_until_a_person_has_looked_into_it(desk: VerdictDesk) -> None:
    """It is an entry, counted from there; nobody but an operator in session, with a reason, ends it."""
    good = desk.tools.reasoner
    _leaves(desk)
    with refused("sovereignty.egress"):
        desk.decide({"so2": 30})
    (body,) = desk.entries(EntryKind.EGRESS_ATTEMPTED)
    assert (body["attempts"], len(body["places"])) == (1, 1)
    desk.use(reasoner=good)
    _restarted(desk)
    assert (count_egress(desk.tools), is_egress_open(desk.tools)) == (1, True)
    with refused("sovereignty.egress"):
        desk.decide({"so2": 30})
    at = desk.at(minutes=7)
    for credential, reason, code in (
        (desk.operator, "a look-up of a test", "identity.session_required"),
        (desk.session("user:rita"), "a look-up of a test", "identity.role"),
        (desk.session("user:olga"), "  ", "review.reason_missing"),
    ):
        with refused(code):
            clear_egress(desk.tools, reason=reason, credential=credential, at=at)
    clear_egress(desk.tools, reason="a look-up of a test", credential=desk.session("user:olga"), at=at)
    assert desk.entries(EntryKind.EGRESS_CLEARED) == [{"cleared_by": "user:olga", "reason": "a look-up of a test"}]
    assert desk.decide({"so2": 30}).is_new
    assert (count_egress(desk.tools), is_egress_open(desk.tools)) == (1, False)
    with refused("flow.not_found"):
        clear_egress(desk.tools, reason="again", credential=desk.session("user:olga"), at=at)


@pytest.mark.clause("ski", "6.3")
@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("DELETE FROM egress_note", "ledger.row_missing"),
        ("UPDATE egress_note SET attempts = 0", "ledger.row_differs"),
        ("INSERT INTO egress_note SELECT tenant_id, 1, 0, noted_at FROM egress_note", "ledger.row_unrecorded"),
    ],
)
def test_a_refusal_that_was_taken_away_by_hand_is_found_by_an_audit(
    desk: VerdictDesk, tmp_path: Path, statement: str, code: str
) -> None:
    _leaves(desk)
    with refused("sovereignty.egress"):
        desk.decide({"so2": 30})
    assert audit_ledger(desk.tools, TENANT, full=True, leave_mark=False).holds
    damage(tmp_path / "node", statement)
    assert audit_ledger(desk.tools, TENANT, full=True, leave_mark=False).code == code


@pytest.mark.clause("ski", "6.3")
def test_every_attempt_is_counted_once_whatever_the_mode(desk: VerdictDesk) -> None:
    """Advisory mode goes on and counts; what this process cleared does not open again, and a new one does."""
    desk.settings(mode=SovereigntyMode.ADVISORY)
    desk.use(guard=ProcessEgressGuard(Perimeter(), is_strict=False))
    good = desk.tools.reasoner
    _leaves(desk)
    for name in ("a", "b"):
        desk.decide({"so2": 30}, name=name)
    desk.use(reasoner=good)
    desk.decide({"so2": 30}, name="c")
    assert [one["attempts"] for one in desk.entries(EntryKind.EGRESS_ATTEMPTED)] == [1, 1]
    document = attest_sovereignty(desk.tools, TENANT, at=desk.at(minutes=1)).document
    assert document.egress_attempts_total == count_egress(desk.tools) == 2
    clear_egress(desk.tools, reason="known", credential=desk.session("user:olga"), at=desk.at(minutes=7))
    desk.settings(mode=SovereigntyMode.STRICT)
    assert desk.decide({"so2": 30}, name="d").is_new
    _leaves(desk)
    with refused("sovereignty.egress"):
        desk.decide({"so2": 30}, name="e")
    assert count_egress(desk.tools) == 3


class _Calling:
    """A model that asks somebody else who it is."""

    def identify(self) -> Any:  # noqa: ANN401 - never answers
        socket.getaddrinfo("example.invalid", 443)

    def complete(self, request: Any) -> Any:  # noqa: ANN401 - never asked
        raise ModelUnavailableError(str(request))


@pytest.mark.clause("ski", "6.3")
def test_a_model_is_watched_from_the_first_word(desk: VerdictDesk) -> None:
    desk.use(reasoner=_Calling())
    with refused("sovereignty.egress"):
        desk.decide({"so2": 30})
    assert desk.tools.guard is not None
    assert desk.tools.guard.attempts == 1


@pytest.mark.clause("ski", "6.4")
def test_the_attestation_names_every_webhook_by_its_host_alone(desk: VerdictDesk) -> None:
    """A path may be a secret of whoever listens there."""
    webhook = Webhook(
        webhook_id="whk_1", url="https://hooks.example/secret", added_by=PrincipalId("user:op"), added_at=desk.at()
    )
    added = delivery_entry(TENANT, EntryKind.WEBHOOK_ADDED, webhook, at=desk.at())
    desk.tools.database.write(lambda unit: unit.record(added))
    channels = attest_sovereignty(desk.tools, TENANT, at=desk.at(minutes=1)).document.egress_channels
    assert channels == ("webhook whk_1 https://hooks.example:443",)


def test_strict_mode_without_a_guard_evaluates_nothing(desk: VerdictDesk) -> None:
    desk.use(guard=None)
    with refused("sovereignty.egress"):
        desk.decide({"so2": 30})
    desk.settings(mode=SovereigntyMode.ADVISORY)
    assert desk.decide({"so2": 30}).is_new


@pytest.mark.clause("ski", "6.4")
def test_the_attestation_says_what_is_so_and_is_signed_by_the_deployment(desk: VerdictDesk) -> None:
    desk.settings(egress_channels=("witness https://w.example",), codebase_commit="ab" * 20)
    signed = attest_sovereignty(desk.tools, TENANT, at=desk.at(minutes=1))
    document = signed.document
    active = desk.read(lambda unit: unit.graphs.find_active(TENANT))
    assert active is not None
    assert (document.model_weight_hash, document.kg_version_hash) == (WEIGHTS, active.kg_version_hash)
    assert (document.codebase_commit_hash, document.build_provenance_attestation) == ("ab" * 20, None)
    assert (document.signed_at, document.egress_attempts_total) == (desk.at(minutes=1), 0)
    assert document.egress_channels == ("witness https://w.example",)
    assert all(finding.is_met for finding in document.findings)
    key = desk.tools.ledger_signer.public_key
    assert key is not None
    verify_ed25519(key, sovereignty_message(document), bytes.fromhex(signed.signature_hex))


def test_a_node_without_a_model_or_a_graph_says_so(tmp_path: Path) -> None:
    with opened_verdicts(tmp_path) as desk:
        document = attest_sovereignty(desk.tools, TENANT, at=desk.start).document
        assert (document.model_weight_hash, document.kg_version_hash) == (ZERO_DIGEST, EMPTY_DIGEST)
        assert [one.check for one in check_node_sovereignty(desk.tools) if not one.is_met] == ["1 backend", "2 weights"]


class _Gone:
    def identify(self) -> Any:  # noqa: ANN401 - never answers
        raise ModelUnavailableError("gone")

    def complete(self, request: Any) -> Any:  # noqa: ANN401 - never answers
        raise ModelUnavailableError(str(request))


def test_the_report_of_the_start_names_every_failure_also_when_the_model_is_gone(desk: VerdictDesk) -> None:
    desk.use(reasoner=_Gone())
    assert [one.check for one in check_node_sovereignty(desk.tools) if not one.is_met] == ["1 backend", "2 weights"]
    with refused("model.unavailable"):
        desk.decide({"so2": 30})
