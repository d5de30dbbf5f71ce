"""What another policy would have decided: recorded decisions, one after the other, with the facts of then.

policy text + since -> decisions of the ledger in order -> redecided -> newly published first, then the rest
Nothing is written, and no model and no guardian of an operator is asked.
"""

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Struct

from assay.claims.backtest import (
    AlphaCost,
    Backtest,
    RecordedCase,
    Redecided,
    alpha_costs,
    is_outside,
    redecide,
    summarise,
)
from assay.claims.bundle import ClaimBundle, GateName, is_full_hash
from assay.claims.finding import Finding, FindingCode
from assay.claims.gate import CURRENT_RULES, GateFacts, GateRules
from assay.claims.policy import ClaimsPolicy, policy_hash
from assay.facts.claims import BundleContext, ClaimsDecided, DecisionFacts
from assay.flows.claims.calibrate import LabelledCase, parse_lines
from assay.flows.claims.claims_facts import active_policy, own_agent
from assay.flows.claims.claims_rows import read_decision
from assay.flows.claims.output_claims import cited_clauses
from assay.flows.claims.policies import read_draft
from assay.flows.request import Moment, Option, Request, parse_moment
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.identity.risk import RiskTier
from assay.kernel.digest import Digest
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.claims_store import ReceivedBundle
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit

# Decisions whose bundles are read together.
_AT_ONCE = 200
# What these gates looked at is not in the entries of the first release.
_UNKNOWN_THEN = frozenset({GateName.SECURITY, GateName.ADVERSARIAL, GateName.HUMAN_APPROVAL})


class BacktestPolicy(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    policy: Annotated[
        str | None,
        Meta(description="The policy to try, as YAML; else the one in force."),
        Option(form="text_argument", metavar="[POLICY]"),
    ] = None
    since: Annotated[Moment | None, Meta(description="Only decisions from this instant on.")] = None
    labelled: Annotated[
        tuple[LabelledCase, ...],
        Meta(description="Known cases, as `calibrate` takes them: the deferral rate that each alpha costs is told."),
        Option(form="text", metavar="FILE", read=parse_lines),
    ] = ()
    alphas: Annotated[tuple[float, ...], Meta(description="The levels whose cost is told."), Option(flag="--alpha")] = (
        0.01,
        0.02,
        0.05,
        0.1,
        0.2,
    )


class BacktestResult(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`same_policy` are the decisions that were made under the very policy that was tried, by the same rules."""

    policy_hash: Digest
    backtest: Backtest
    same_policy: int
    alphas: tuple[AlphaCost, ...] = ()


def backtest(tools: Tools, caller: Caller, request: BacktestPolicy) -> BacktestResult:
    """Decide every recorded bundle again under another policy: newly published first, then the other changes.

    Nothing is recorded and nobody is asked. Only the decision in force for a bundle is compared; under the policy that
    it was made by, the answer is the same. Facts that are not on record any more are named.
    """
    return tools.database.read(lambda unit: _backtest(unit, tools, caller.tenant_id, request))


def _backtest(unit: Unit, tools: Tools, tenant_id: TenantId, request: BacktestPolicy) -> BacktestResult:
    policy = _policy(unit, tenant_id, request)
    wanted, same, values = policy_hash(policy), 0, list[float]()

    def rows() -> Iterator[Redecided]:
        nonlocal same
        for case in recorded_cases(unit, tools, tenant_id, since=parse_moment(request.since)):
            if not case.is_latest:
                continue
            values.extend(claim.uncertainty.value for claim in case.bundle.claims)
            is_same = case.outcome.policy_hash == wanted
            same += is_same
            yield redecide(case, policy, rules=None if is_same else CURRENT_RULES)

    found = summarise(rows())
    alphas: tuple[AlphaCost, ...] = ()
    if request.labelled:
        said = [one.uncertainty for one in request.labelled]
        alphas = alpha_costs(said, [one.wrong for one in request.labelled], values, alphas=request.alphas)
    return BacktestResult(policy_hash=wanted, backtest=found, same_policy=same, alphas=alphas)


def recorded_cases(
    unit: Unit, tools: Tools, tenant_id: TenantId, *, since: Instant | None = None
) -> Iterator[RecordedCase]:
    """Every recorded decision in the order of entries, with its facts; `is_latest` is that which holds now."""
    agent, latest = own_agent(tools), unit.claims.last_positions(tenant_id)
    log = unit.claims.decision_log(tenant_id)
    while some := list(islice(log, _AT_ONCE)):
        wanted = [one for one in some if since is None or one.decided_at >= since]
        rows = {
            row.bundle_hash: row for row in unit.claims.find_bundles(tenant_id, {one.bundle_hash for one in wanted})
        }
        contents = _contents(unit, tenant_id, rows.values())
        for decision in wanted:
            row = rows.get(decision.bundle_hash)
            if row is None:
                raise DamagedRecordError(f"expected the bundle of decision {decision.sequence_number}, got none")
            case = recorded_case(row, read_decision(decision), contents, own_agent=agent)
            yield case if latest[decision.bundle_hash] == decision.position else _earlier(case)


def _earlier(case: RecordedCase) -> RecordedCase:
    return dataclasses.replace(case, is_latest=False)


def _policy(unit: Unit, tenant_id: TenantId, request: BacktestPolicy) -> ClaimsPolicy:
    if request.policy is None:
        return active_policy(unit, tenant_id)
    return read_draft(request.policy)


def _contents(unit: Unit, tenant_id: TenantId, rows: Iterable[ReceivedBundle]) -> dict[str, bytes]:
    """What is held of the evidence of these bundles, by hash."""
    bundles = (msgspec.json.decode(row.text, type=ClaimBundle) for row in rows)
    hashes = {one for bundle in bundles for one in pointer_hashes(bundle)}
    return unit.claims.contents(tenant_id, tuple(sorted(hashes))) if hashes else {}


def pointer_hashes(bundle: ClaimBundle) -> frozenset[str]:
    """The whole hashes that a bundle points at."""
    hashes = (pointer.evidence_hash for claim in bundle.claims for pointer in claim.evidence_pointers)
    return frozenset(one for one in hashes if one is not None and is_full_hash(one))


def recorded_case(
    row: ReceivedBundle, told: ClaimsDecided, contents: Mapping[str, bytes], *, own_agent: PrincipalId
) -> RecordedCase:
    """A decision with the facts it rested on; `contents` is evidence of the bundle that is kept here, by hash."""
    bundle = msgspec.json.decode(row.text, type=ClaimBundle)
    context = msgspec.json.decode(row.context, type=BundleContext)
    known = told.facts
    held = pointer_hashes(bundle) & contents.keys() if known is UNSET else frozenset(known.held or ())
    gone = tuple(f"the content of {one}, which was erased" for one in sorted(held - contents.keys()))
    facts = GateFacts(
        now=told.outcome.decided_at,
        submitter=row.submitted_by,
        risk_ceiling=RiskTier.PRIVILEGE,
        estimates=context.estimates,
        questions=context.questions,
        contents=_by_source(bundle, {one: contents[one] for one in held & contents.keys()}),
        tool_arguments=context.tool_arguments,
        audit_recorded=True,
        asked_by=context.asked_by or None,
        edited_by=context.edited_by or None,
        seen=cited_clauses(bundle) if row.submitted_by == own_agent else frozenset(),
        passages=context.passages or {},
        rules=GateRules.FIRST,
    )
    case = RecordedCase(bundle=bundle, facts=facts, outcome=told.outcome, missing=gone)
    case = _known_then(case, known) if known is not UNSET else _unknown_then(case)
    unavailable = (one.gate for one in told.outcome.answers if _is_unavailable(one.findings))
    evidence = (GateName.EVIDENCE,) if gone else ()
    return dataclasses.replace(case, as_recorded=case.as_recorded.union(unavailable, evidence))


def _known_then(case: RecordedCase, known: DecisionFacts) -> RecordedCase:
    facts = dataclasses.replace(
        case.facts,
        risk_ceiling=known.risk_ceiling,
        recent_bundles=known.recent_bundles or 0,
        session=known.session or (),
        approvers=known.approvers or {},
        approvals=known.approvals or (),
        approvals_due_at=known.approvals_due_at or None,
        resumptions=known.resumptions or (),
        erased=frozenset(known.erased or ()),
        mandate=known.mandate or None,
        rules=GateRules(known.rules),
    )
    return dataclasses.replace(case, facts=facts, threat=known.threat or None)


def _unknown_then(case: RecordedCase) -> RecordedCase:
    """A decision of the first release: what its later gates looked at is taken as they answered."""
    if is_outside(case.outcome):
        return case
    asked = {one.gate for one in case.outcome.answers}
    told = tuple(f"what the {gate} looked at" for gate in sorted(_UNKNOWN_THEN))
    return dataclasses.replace(case, as_recorded=_UNKNOWN_THEN & asked, missing=(*case.missing, *told))


def _is_unavailable(findings: tuple[Finding, ...]) -> bool:
    return any(one.code in (FindingCode.UNAVAILABLE, FindingCode.FAULT) for one in findings)


def _by_source(bundle: ClaimBundle, contents: Mapping[str, bytes]) -> dict[str, bytes]:
    """Contents as gates are given them: by source, and by source and hash where a source has several."""
    pointers = {
        (pointer.source, pointer.evidence_hash)
        for claim in bundle.claims
        for pointer in claim.evidence_pointers
        if pointer.evidence_hash in contents
    }
    times = Counter(source for source, _ in pointers)
    return {
        source if times[source] == 1 else f"{source}#{hashed}": contents[hashed]
        for source, hashed in sorted(pointers)
        if hashed is not None
    }
