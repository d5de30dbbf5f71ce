"""A conforming service passes both profiles, and each requirement that is not met is found by its own rule."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from assay.delivery.annotate import SlmContribution, deliver, render_body
from assay.delivery.conclude import CHOICES
from assay.delivery.conform import (
    Attack,
    AttackResult,
    Evidence,
    Profile,
    check_delivery,
    judge_attack,
)
from assay.delivery.outcome import Outcome, render_phala
from assay.delivery.pair import capture_pair, render_pairs
from assay.delivery.plugin import Category, render_request
from assay.delivery.sense import StandardEvent
from assay.delivery.strand import CORE
from assay.delivery.tally import recount
from assay.delivery.workitem import plugin_request
from assay.kernel.conformance import Fetched, Report
from tests.delivery.answers import OUTPUT, RULE, make_annotation
from tests.delivery.items import conclusion, make_item
from tests.delivery.signals import make_signal

_F, _S = Outcome.FAILURE, Outcome.SUCCESS
_STATE = {
    "service": "org.harbour.ukc",
    "version": "1",
    "status": "online",
    "can_answer": ["vessel.ukc-status"],
    "can_do": [],
    "strands_supported": list(CORE),
    "pramana_version": "1.0",
}
_TRUST = {"user_id": "user:amira", "role": "reviewer", "trust_mask": 3}
_RULES = {Profile.MINIMUM: 10, Profile.FULL: 20}


def _ok(value: Any) -> Fetched:  # noqa: ANN401  any document
    return Fetched(status=200, content=value if isinstance(value, bytes) else json.dumps(value).encode())


def _answer(*names: str, **changes: Any) -> Fetched:  # noqa: ANN401  any field
    return _ok(render_body(deliver(OUTPUT, make_annotation(names, **changes), floor=0)))


def _counters(history: list[Outcome]) -> Fetched:
    return _ok({"rule_id": RULE, **asdict(recount(history))})


def _signals(**members: Any) -> Fetched:  # noqa: ANN401  any field
    told = [render_phala(make_signal(), RULE, rca_triggered=False) | members for _ in range(2)]
    return _ok({"items": told})


def _event(name: str) -> bytes:
    told = {"event_type": name, "service": "s", "timestamp": "2026-01-07T12:00:00Z", "payload": {}}
    return json.dumps(told).encode()


def _evidence(**changes: Any) -> Evidence:  # noqa: ANN401  any field
    item = make_item()
    root = msgspec.to_builtins(item) | {"choices": list(CHOICES.values())}
    reply = {
        "plugin_interface": "pramana/slm-plugin/1.0",
        "rule_id": RULE,
        "purva_paksha": {"failure_category": "C", "hypothesis": "h", "proposed_correction": "c", "confidence": 0.1},
    }
    fields: dict[str, Any] = {
        "state": _ok(_STATE),
        "trust": _ok(_TRUST),
        "answers": (_answer(), _answer("proof"), _answer("capability", "knowledge"), _answer(*CORE)),
        "rule_before": _counters([_S]),
        "rule_after": _counters([_S, _F, _F, _F, _F]),
        "reported": (_F,) * 4,
        "receipts": (_ok({}),) * 4,
        "root_cause": _ok(root),
        "sense_emit": _ok({}),
        "provoked": (StandardEvent.QUERY_ANSWERED, StandardEvent.RCA_TRIGGERED),
        "events": (_event("query.answered"), _event("rca.triggered"), _event("own.event")),
        "batched": _signals(batch_id="batch_1"),
        "two_wrong": _signals(two_wrong_flag=True),
        "plugin_request": render_request(plugin_request(item)),
        "plugin_reply": json.dumps(reply).encode(),
        "pairs": _ok(render_pairs([capture_pair(item, conclusion(Category.ROUTING))])),
        "queue": _ok({"waiting": 1, "batch_size": 50}),
        "inferred": _answer(*CORE, slm=SlmContribution(plugin_id="p", rules_applied=(RULE,))),
        "queries": _ok([{"slug": "vessel.ukc-status", "expected_level": "PRAMANA-2"}]),
        "session": _signals(session_id="s-1"),
        "attacks": (),
    }
    return Evidence(**(fields | changes))


def _failed(report: Report) -> set[str]:
    return {one.rule for one in report.failures}


@pytest.mark.clause("pramana", "11")
@pytest.mark.parametrize("profile", list(Profile))
def test_a_conforming_service_passes_with_a_finding_for_every_requirement(profile: Profile) -> None:
    report = check_delivery(_evidence(), profile)
    assert report.failures == ()
    assert report.passed
    assert len({one.rule for one in report.findings}) == len(report.findings) == _RULES[profile]


_LEAST: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "vectors" / "delivery" / "annotations.json").read_text()
)["cases"]


@pytest.mark.clause("pramana", "8.2")
@pytest.mark.clause("pramana", "8.4")
@pytest.mark.clause("pramana", "11.5")
@pytest.mark.parametrize("case", _LEAST, ids=lambda case: case["annotation"]["authenticity_level"])
def test_an_annotation_with_what_the_text_makes_mandatory_conforms_and_with_less_it_does_not(
    case: dict[str, Any],
) -> None:
    """Of a service that carries none of our own members; without one of these it is not what its level asks for."""
    whole = case["annotation"]
    assert _failed(check_delivery(_evidence(answers=(_ok(whole),)), Profile.MINIMUM)) == set()
    for name in case["needs"]:
        assert "pramana.11.5" in _failed(check_delivery(_evidence(answers=(_without(whole, name),)), Profile.MINIMUM))
    nameless = _without(whole, "rule_ids")
    assert _failed(check_delivery(_evidence(answers=(nameless,)), Profile.MINIMUM)) == {"pramana.11.6"}


@pytest.mark.parametrize("profile", list(Profile))
def test_nothing_fetched_is_nothing_met(profile: Profile) -> None:
    report = check_delivery(Evidence(), profile)
    assert len(report.failures) == _RULES[profile]
    assert not Report(profile=profile, findings=()).passed


def _without(document: dict[str, Any], name: str) -> Fetched:
    return _ok({key: value for key, value in document.items() if key != name})


def _bare_answer(**changes: Any) -> Fetched:  # noqa: ANN401  any field
    told = json.loads(_answer(*CORE).content)["annotation"] | changes
    return _ok({key: value for key, value in told.items() if value is not ...})


@pytest.mark.clause("pramana", "11")
@pytest.mark.parametrize(
    ("rule", "changes"),
    [
        *(
            ("11.1", {"state": _without(_STATE, name)})
            for name in _STATE
            if name not in ("can_do", "strands_supported")
        ),
        ("11.1", {"state": _ok(_STATE | {"status": "fine"})}),
        *(("11.2", {"trust": _without(_TRUST, name)}) for name in _TRUST),
        ("11.2", {"trust": _ok(_TRUST | {"trust_mask": -1})}),
        ("11.2", {"trust": Fetched(status=500, content=b"{}")}),
        ("11.2", {"trust": Fetched(status=200, content=b"{")}),
        ("11.3", {"answers": (_bare_answer(strands_present=[], strands_missing=[]),)}),
        ("11.3", {"answers": (_bare_answer(strands_present=[*CORE, "x-more"]),)}),
        ("11.4", {"answers": (_bare_answer(authenticity_level=...),)}),
        ("11.4", {"answers": (_bare_answer(strands_present=["proof"]),)}),
        ("11.5", {"answers": (_bare_answer(strands_present=...),)}),
        ("11.5", {"answers": (_bare_answer(authenticity_level="PRAMANA-0"),)}),
        ("11.5", {"answers": (_bare_answer(authenticity_level="PRAMANA-1"),)}),
        ("11.5", {"answers": (_bare_answer(authenticity_level="PRAMANA-2"),)}),
        ("11.5", {"answers": (_bare_answer(authenticity_level="PRAMANA-3+"),)}),
        ("11.6", {"answers": (_bare_answer(rules=[]),)}),
        ("11.6", {"answers": (_bare_answer(rules=[{"rule_id": "A-1"}, {"version": 1}]),)}),
        ("11.7", {"receipts": (_ok({}),)}),
        ("11.7", {"receipts": (Fetched(status=401, content=b""),) * 4}),
        ("11.7", {"rule_after": _ok({"rule_id": "OTHER-1", **asdict(recount([_S, _F, _F, _F, _F]))})}),
        ("11.8", {"rule_after": _counters([_S, _F, _F, _F])}),
        ("11.8", {"rule_after": _ok({"rule_id": RULE})}),
        ("11.9", {"reported": (_F, _F, _S, _F), "rule_after": _counters([_S, _F, _F, _S, _F])}),
        ("11.9", {"root_cause": _ok({"rule_id": "OTHER-1"})}),
        ("11.10", {"root_cause": _ok({"rule_id": RULE, "choices": ["approve", "reject"], "contexts": [{}]})}),
        ("11.10", {"root_cause": _ok({"rule_id": RULE, "choices": ["A", "B", "C"], "contexts": []})}),
    ],
)
def test_each_minimum_requirement_can_fail(rule: str, changes: dict[str, Any]) -> None:
    assert f"pramana.{rule}" in _failed(check_delivery(_evidence(**changes), Profile.MINIMUM))


@pytest.mark.parametrize(
    ("rule", "changes"),
    [
        ("12.1", {"state": _ok(_STATE | {"strands_supported": ["capability"]})}),
        ("12.1", {"answers": (_bare_answer(strands_present=["capability"], strands_missing=[]),)}),
        ("12.2", {"provoked": (StandardEvent.RCA_CLOSED,)}),
        ("12.2", {"provoked": ()}),
        ("12.2", {"sense_emit": None}),
        ("12.2", {"events": (b"{}",)}),
        ("12.3", {"batched": _signals()}),
        ("12.4", {"two_wrong": _signals()}),
        ("12.5", {"plugin_reply": None}),
        ("12.5", {"plugin_reply": b"{}"}),
        ("12.5", {"plugin_request": b"\xff"}),
        ("12.6", {"pairs": _ok([])}),
        ("12.6", {"pairs": _ok([{"training_pair_id": "1"}])}),
        ("12.6", {"queue": _ok({"waiting": 1})}),
        ("12.7", {"inferred": _answer(*CORE)}),
        ("12.8", {"queries": _ok([{"slug": "vessel.ukc-status"}])}),
        ("12.8", {"queries": _ok([])}),
        ("12.9", {"session": _signals()}),
        ("12.10", {"events": ()}),
        ("12.10", {"events": (b"[]",)}),
    ],
)
def test_each_full_requirement_can_fail(rule: str, changes: dict[str, Any]) -> None:
    report = check_delivery(_evidence(**changes), Profile.FULL)
    assert f"pramana.{rule}" in _failed(report)
    assert not report.passed


@pytest.mark.clause("pramana", "14.2")
@pytest.mark.clause("pramana", "14.5")
@pytest.mark.clause("pramana", "14.6")
@pytest.mark.parametrize("attack", list(Attack))
def test_an_attack_must_be_refused_and_change_nothing(attack: Attack) -> None:
    assert judge_attack(AttackResult(attack=attack, status=401)).passed
    assert not judge_attack(AttackResult(attack=attack, status=403, changed=True)).passed
    acknowledged = judge_attack(AttackResult(attack=attack, status=200)).passed
    assert acknowledged == (attack in (Attack.PHALA_REPLAYED, Attack.FLOOR_LOWERED_BY_CLIENT))
    tried = _evidence(attacks=(AttackResult(attack=attack, status=200, changed=True),))
    assert not check_delivery(tried, Profile.MINIMUM).passed


def test_a_withheld_answer_conforms() -> None:
    body = render_body(deliver(OUTPUT, make_annotation(["proof"]), floor=3))
    assert check_delivery(_evidence(answers=(_ok(body),)), Profile.MINIMUM).passed


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(sorted(_STATE | _TRUST)), inner),
    max_leaves=5,
)


@given(st.sampled_from(["state", "trust", "root_cause", "rule_after", "pairs", "queries", "inferred"]), _JSON)
def test_strange_documents_are_findings_and_never_errors(name: str, value: Any) -> None:  # noqa: ANN401  any document
    report = check_delivery(replace(_evidence(), **{name: _ok(json.dumps(value).encode())}), Profile.FULL)
    assert len(report.findings) == 20
