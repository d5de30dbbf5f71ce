"""Sovereignty: five checks, each failure named, and strict refuses on any."""

from typing import Any

import pytest
from msgspec.structs import replace

from assay.kernel.ids import KeyId
from assay.verdicts.graph.open import SovereigntyMode
from assay.verdicts.sovereignty import (
    AnchorSource,
    Attestation,
    Place,
    PlaceKind,
    SovereigntyCheck,
    SovereigntyFacts,
    TrustAnchor,
    check_sovereignty,
    may_start,
    sovereignty_message,
)
from tests.verdicts.judging import GRAPH, NOON, WEIGHTS

AWAY = Place(kind=PlaceKind.REMOTE, address="10.0.0.7:8080")
FACTS = SovereigntyFacts(
    backend_name="llama.cpp",
    backend_place=Place(kind=PlaceKind.UNIX_SOCKET, address="judge.sock"),
    is_backend_tagged=False,
    model_weight_hash=WEIGHTS,
    weight_registry=(WEIGHTS,),
    anchors=(TrustAnchor(key_id=KeyId("sha256:k"), source=AnchorSource.OPERATOR),),
    ledger_place=Place(kind=PlaceKind.LOCAL_FILE, address="assay.db"),
)


def unmet(facts: SovereigntyFacts) -> list[SovereigntyCheck]:
    return [finding.check for finding in check_sovereignty(facts) if not finding.is_met]


@pytest.mark.clause("ski", "6.2")
def test_all_five_are_met_on_the_operators_own_ground() -> None:
    findings = check_sovereignty(FACTS)
    assert [finding.check for finding in findings] == list(SovereigntyCheck)
    assert unmet(FACTS) == []
    assert may_start(findings, SovereigntyMode.STRICT)


@pytest.mark.clause("ski", "6.1")
@pytest.mark.clause("ski", "6.2")
@pytest.mark.clause("ski", "2.1.1")
@pytest.mark.parametrize(
    ("change", "check"),
    [
        ({"backend_name": "somebody-elses-api"}, SovereigntyCheck.BACKEND),
        ({"backend_place": AWAY}, SovereigntyCheck.BACKEND),
        ({"backend_place": AWAY, "deployment_local": ("10.0.0.7",)}, SovereigntyCheck.BACKEND),
        ({"model_weight_hash": None}, SovereigntyCheck.WEIGHTS),
        ({"weight_registry": ()}, SovereigntyCheck.WEIGHTS),
        ({"anchors": ()}, SovereigntyCheck.ANCHOR),
        ({"anchors": (TrustAnchor(key_id=KeyId("k"), source=AnchorSource.VENDOR),)}, SovereigntyCheck.ANCHOR),
        ({"ledger_place": AWAY}, SovereigntyCheck.LEDGER),
        ({"evaluation_egress": ("api.example.org:443",)}, SovereigntyCheck.EGRESS),
    ],
)
def test_each_failure_is_named_and_stops_a_strict_start(change: dict[str, Any], check: SovereigntyCheck) -> None:
    findings = check_sovereignty(replace(FACTS, **change))
    assert [finding.check for finding in findings if not finding.is_met] == [check]
    assert not may_start(findings, SovereigntyMode.STRICT)
    assert may_start(findings, SovereigntyMode.ADVISORY)


def test_the_operator_may_tag_a_backend_and_exactly_an_address() -> None:
    assert unmet(replace(FACTS, backend_name="house-model", is_backend_tagged=True)) == []
    tagged = replace(FACTS, backend_place=AWAY, ledger_place=AWAY, deployment_local=(AWAY.address,))
    assert unmet(tagged) == []


def test_a_report_names_every_failure() -> None:
    worst = replace(
        FACTS, backend_name="x", weight_registry=(), anchors=(), ledger_place=AWAY, evaluation_egress=("y",)
    )
    assert unmet(worst) == list(SovereigntyCheck)


@pytest.mark.clause("ski", "6.4")
def test_the_attestation_has_the_fields_of_the_specification_and_one_message() -> None:
    document = Attestation(
        model_weight_hash=WEIGHTS,
        kg_version_hash=GRAPH,
        codebase_commit_hash="0" * 40,
        build_provenance_attestation={"_type": "https://in-toto.io/Statement/v1"},
        signed_at=NOON,
        mode=SovereigntyMode.STRICT,
        findings=check_sovereignty(FACTS),
    )
    message = sovereignty_message(document)
    assert message.startswith(b"assay/sovereignty/v1\n{")
    for name in (
        "model_weight_hash",
        "kg_version_hash",
        "codebase_commit_hash",
        "build_provenance_attestation",
        "signed_at",
    ):
        assert f'"{name}":'.encode() in message
    assert sovereignty_message(replace(document, kg_version_hash=WEIGHTS)) != message
