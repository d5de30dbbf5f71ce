"""Operations of claims: bundles through the gates, evidence, the policy of it all, uncertainty and oversight."""

from collections.abc import Callable, Mapping
from typing import Any

from assay.claims.bundle import Decision, Recommendation
from assay.flows.claims import (
    backtest_claims,
    calibrate,
    estimate,
    evidence,
    export_claims,
    gate_claims,
    oversight,
    policies,
    sampling,
    show_claims,
    watch_scores,
)
from assay.flows.request import SEE_ALL
from assay.identity.principal import BuiltInRole
from assay.kernel.errors import Blame
from assay.operations.kinds import SIGNED_IN, Bulk, Change, Listing, Operation, Read, needs
from assay.operations.shown import claims as shown

SEE = needs("claims:read")
WRITE = needs("claims:write")
RELEASE = needs("claims:write", BuiltInRole.OPERATOR, session=True)
STUDY = needs("claims:read", *SEE_ALL)
BUNDLE_EXAMPLE: Mapping[str, Any] = {
    "id": "5b0d0c1e-6d5c-4a3e-9b57-1f6f0c1d0002",
    "timestamp": "2026-01-07T12:00:00Z",
    "origin_agent": "ai:planner",
    "claims": [
        {
            "id": "c-1",
            "statement": "The river is 30 m deep.",
            "claim_type": "FACT",
            "evidence_pointers": [
                {
                    "source": "https://data.example.org/rivers.csv",
                    "source_confidence": 0.9,
                    "evidence_hash": "ab" * 32,
                    "retrieved_at": "2026-01-07T11:00:00Z",
                }
            ],
            "uncertainty": {"method": "semantic_entropy", "value": 0.1, "gate_recommendation": "EXECUTE"},
            "risk_tier": "READ_ONLY",
            "if_wrong_cost": "a boat runs aground",
        }
    ],
}
_GATE_EXAMPLE = {"bundle": BUNDLE_EXAMPLE, "thread": "survey-7"}
_POLICY_EXAMPLE = {"document": 'id: papers\nversion: "1"\nevidence: {least_confidence: 0.95}\n'}
_CASES_EXAMPLE = {"cases": [{"uncertainty": 0.2, "wrong": False}, {"uncertainty": 0.9, "wrong": True}]}


def _no_if(is_no: Callable[[Any], bool]) -> Callable[[Any], Blame | None]:
    return lambda value: Blame.ANSWER if is_no(value) else None


_UNLESS_PUBLISHED = _no_if(lambda gated: gated.decision is not Decision.PUBLISH)

_GATING: tuple[Operation, ...] = (
    Listing(
        "claims.list",
        show_claims.claims,
        "GET /claims",
        needs=SEE,
        command="claims list",
        tool="list_claims",
        columns=shown.LIST_COLUMNS,
        row=shown.list_row,
        nothing="no bundle was received",
    ),
    Read(
        "claims.show",
        show_claims.claim,
        "GET /claims/{bundle_hash}",
        needs=SEE,
        command="claims show",
        tool="show_claim",
        shows=shown.view_text,
    ),
    Change(
        "claims.gate",
        gate_claims.gate,
        "POST /claims",
        needs=WRITE,
        command="claims gate",
        tool="gate",
        location="/claims/{bundle_hash}",
        example=_GATE_EXAMPLE,
        shows=shown.gated_text,
        blames=_UNLESS_PUBLISHED,
        uses=("estimator",),
        may_repeat=True,
    ),
    Bulk(
        "claims.gate.bulk",
        gate_claims.gate_bundles,
        "POST /claims:bulk",
        needs=WRITE,
        command="claims gate-lines",
        example=_GATE_EXAMPLE,
        shows=shown.lines_text,
        blames=_no_if(lambda lines: any(line.status == "refused" for line in lines)),
        uses=("estimator",),
    ),
    Change(
        "claims.resume",
        gate_claims.resume,
        "POST /claims/{bundle_hash}/resume",
        needs=WRITE,
        command="claims resume",
        tool="resume_claim",
        method="resume_claim",
        example={},
        shows=shown.gated_text,
        blames=_UNLESS_PUBLISHED,
        uses=("estimator",),
        may_repeat=True,
    ),
    Read(
        "claims.try",
        policies.try_gates,
        "POST /claims/try",
        needs=SEE,
        command="claims explain",
        tool="try_gates",
        example={"bundle": BUNDLE_EXAMPLE},
        shows=shown.tried_text,
        blames=_no_if(lambda tried: tried.outcome.decision is not Decision.PUBLISH),
        needs_node=False,
    ),
    Read(
        "state.claims",
        export_claims.state_claims,
        "GET /states/{key}/claims",
        needs=needs("truth:read"),
        command="claims export state",
        shows=shown.json_text,
    ),
    Read(
        "verdicts.claims",
        export_claims.verdict_claims,
        "GET /telemetry/{telemetry_id}/claims",
        needs=needs("verdicts:read", *SEE_ALL),
        command="claims export verdict",
        shows=shown.json_text,
    ),
)

_EVIDENCE: tuple[Operation, ...] = (
    Change(
        "evidence.attach",
        evidence.attach_evidence,
        "POST /evidence",
        needs=WRITE,
        command="claims attach",
        says="{evidence_hash}",
        notes=shown.attached_notes,
        location="/evidence/{evidence_hash}",
        may_repeat=True,
    ),
    Read("evidence.show", evidence.evidence, "GET /evidence/{evidence_hash}", needs=SEE, command="claims evidence"),
    Read(
        "evidence.content",
        evidence.evidence_content,
        "GET /evidence/{evidence_hash}/content",
        needs=SEE,
        command="claims content",
        media_types=(evidence.BYTES,),
    ),
    Read(
        "quote.check",
        evidence.check_quote,
        "POST /claims/check-quote",
        needs=SEE,
        command="claims check-quote",
        tool="check_quote",
        example={
            "statement": "The river is 30 m deep.",
            "quote": "30 m",
            "content": "VGhlIHJpdmVyIGlzIDMwIG0gZGVlcC4=",
        },
        shows=shown.quote_text,
        blames=_no_if(lambda found: not found.is_supported),
        needs_node=False,
    ),
)

_POLICIES: tuple[Operation, ...] = (
    Change(
        "gate_policy.release",
        policies.release_gate_policy,
        "POST /gate-policies",
        needs=RELEASE,
        command="claims policy release",
        example=_POLICY_EXAMPLE,
        shows=shown.released_text,
        notes=shown.unheld_notes,
        may_repeat=True,
    ),
    Listing(
        "gate_policies.list",
        policies.gate_policies,
        "GET /gate-policies",
        needs=SEE,
        command="claims policy list",
        columns=("policy_id", "version", "policy_hash", "released_at", "released_by", "key_id"),
        nothing="none was released: the specification's own is in force",
    ),
    Read(
        "gate_policy.show",
        policies.gate_policy,
        "GET /gate-policy",
        needs=SEE,
        command="claims policy show",
        shows=shown.policy_text,
    ),
    Read(
        "gate_policy.check",
        policies.check_gate_policy,
        "POST /gate-policies/check",
        needs=SEE,
        command="claims policy lint",
        example=_POLICY_EXAMPLE,
        shows=shown.checked_text,
        notes=shown.unheld_notes,
        blames=_no_if(lambda found: not found.holds),
        needs_node=False,
    ),
    Read(
        "approvers.show",
        policies.approvers,
        "GET /gate-approvers",
        needs=needs("claims:read", *SEE_ALL, BuiltInRole.ADMIN),
        command="claims approvers",
        shows=shown.approvers_text,
        blames=_no_if(lambda view: any(one.missing for one in view.roles)),
    ),
    Read(
        "claims.backtest",
        backtest_claims.backtest,
        "POST /claims/backtest",
        needs=STUDY,
        command="claims backtest",
        tool="backtest",
        example={"policy": _POLICY_EXAMPLE["document"]},
        shows=shown.backtest_text,
        crew="report",
    ),
)

_UNCERTAINTY: tuple[Operation, ...] = (
    Read(
        "uncertainty.estimate",
        estimate.estimate,
        "POST /estimates",
        needs=WRITE,
        command="claims estimate",
        tool="estimate",
        example={"question": "How deep is the river at Lobith?"},
        shows=shown.estimate_text,
        blames=_no_if(lambda found: found.recommendation in (Recommendation.DEFER, Recommendation.REFUSE)),
        uses=("estimator",),
        crew="judge",
    ),
    Read(
        "thresholds.calibrate",
        calibrate.calibrate_policy,
        "POST /calibrations",
        needs=SIGNED_IN,
        command="claims calibrate",
        example=_CASES_EXAMPLE,
        shows=lambda done: done.policy or "",
        notes=shown.calibrated_notes,
        blames=_no_if(lambda done: done.policy is None),
        crew="report",
        needs_node=False,
    ),
    Read(
        "calibration.plot",
        calibrate.plot_calibration,
        "POST /calibrations/plot",
        needs=SIGNED_IN,
        command="claims plot",
        example=_CASES_EXAMPLE,
        media_types=("image/svg+xml",),
        crew="report",
        needs_node=False,
    ),
    Read(
        "sets.calibrate",
        calibrate.calibrate_sets,
        "POST /calibrations/sets",
        needs=SIGNED_IN,
        command="claims conformal",
        example={"cases": [{"probabilities": [0.7, 0.3], "right": 0}]},
        shows=shown.sets_text,
        blames=_no_if(lambda found: any(one.threshold.is_infinite for one in found.thresholds)),
        crew="report",
        needs_node=False,
    ),
    Read(
        "risk.control",
        calibrate.calibrate_risk,
        "POST /calibrations/risk",
        needs=SIGNED_IN,
        command="claims risk-control",
        example={"cases": [{"losses": [0.9, 0.4, 0.0]}]},
        shows=shown.risk_text,
        blames=_no_if(lambda found: found.place is None),
        crew="report",
        needs_node=False,
    ),
)

_OVERSIGHT: tuple[Operation, ...] = (
    Read(
        "oversight.measure",
        oversight.oversight,
        "POST /oversight",
        needs=SEE,
        command="claims oversight",
        example={},
        shows=shown.oversight_text,
        blames=_no_if(lambda found: any(one.alarms for one in found.figures)),
        crew="report",
    ),
    Change(
        "sample.plan",
        sampling.plan_sample,
        "POST /sample-plans",
        needs=RELEASE,
        command="claims sample-plan",
        example={"rates": {"READ_ONLY": 0.02, "MODIFY": 0.1}, "known_answers": 0.2},
        shows=shown.plan_text,
    ),
    Read(
        "sample.show",
        sampling.sample_plan,
        "GET /sample-plan",
        needs=SEE,
        command="claims sample",
        shows=shown.plan_text,
    ),
    Read(
        "sample.check",
        sampling.check_sample,
        "GET /sample-plans/{plan_id}/check",
        needs=STUDY,
        command="claims sample-check",
        shows=shown.sample_text,
        crew="report",
    ),
    Change(
        "output.label",
        sampling.label_output,
        "POST /claims/{bundle_hash}/label",
        needs=RELEASE,
        command="claims label",
        example={"label": "wrong", "reason": "the vessel ran aground there"},
        says="recorded",
    ),
    Read(
        "labels.list",
        oversight.labels,
        "GET /claim-labels",
        needs=STUDY,
        command="claims labels",
        shows=shown.labels_text,
        crew="report",
    ),
    Change(
        "thresholds.certify",
        watch_scores.certify_thresholds,
        "POST /calibrations/certify",
        needs=RELEASE,
        command="claims certify",
        example=_CASES_EXAMPLE,
        says="certified: {method} defers above {defer_above}, on {cases} cases",
        crew="report",
    ),
)

OPERATIONS: tuple[Operation, ...] = (*_GATING, *_EVIDENCE, *_POLICIES, *_UNCERTAINTY, *_OVERSIGHT)
