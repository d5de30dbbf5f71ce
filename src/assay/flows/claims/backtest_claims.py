"""What another policy would have decided: recorded decisions, one after the other, with the facts of then.

policy text + since -> decisions of the ledger in order -> redecided -> newly published first, then the rest
Nothing is written, and no model and no guardian of an operator is asked.
"""

import dataclasses
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from assay.claims.backtest import AlphaCost, Backtest, RecordedCase, Redecided, alpha_costs, redecide, summarise
from assay.claims.bundle import ClaimBundle
from assay.claims.gate import GateRules
from assay.claims.parse_policy import parse_policy
from assay.claims.policy import ClaimsPolicy, policy_hash
from assay.claims.signed_policy import split_signed_policy
from assay.flows.claims.claims_entry import ClaimsDecided
from assay.flows.claims.claims_facts import active_policy, own_agent
from assay.flows.claims.recorded_facts import pointer_hashes, recorded_case
from assay.flows.request import Request
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.kernel.digest import Digest
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.claims_store import ReceivedBundle, RecordedDecision
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit


class LabelledValue(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How uncertain an answer was said to be, and whether it was wrong."""

    uncertainty: float
    wrong: bool


class BacktestRequest(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`policy` is the YAML of the policy to try, None the one in force; only decisions from `since` on are looked at.

    With `labelled` cases, the deferral rate that each of `alphas` costs is told.
    """

    policy: str | None = None
    since: Instant | None = None
    labelled: tuple[LabelledValue, ...] = ()
    alphas: tuple[float, ...] = (0.01, 0.02, 0.05, 0.1, 0.2)


class BacktestResult(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`same_policy` are the decisions that were made under the very policy that was tried, by the same rules."""

    policy_hash: Digest
    backtest: Backtest
    same_policy: int
    alphas: tuple[AlphaCost, ...] = ()


def backtest_claims(tools: Tools, caller: Caller, request: BacktestRequest) -> BacktestResult:
    """Decide every recorded bundle again under a policy; only the decision that holds for a bundle is compared.

    Under the policy that a decision was made by, the answer is the same.
    """
    return tools.database.read(lambda unit: _backtest(unit, tools, caller.tenant_id, request))


def _backtest(unit: Unit, tools: Tools, tenant_id: TenantId, request: BacktestRequest) -> BacktestResult:
    policy = _policy(unit, tenant_id, request)
    wanted, same, values = policy_hash(policy), 0, list[float]()

    def rows() -> Iterator[Redecided]:
        nonlocal same
        for case in recorded_cases(unit, tools, tenant_id, since=request.since):
            if not case.is_latest:
                continue
            values.extend(claim.uncertainty.value for claim in case.bundle.claims)
            is_same = case.outcome.policy_hash == wanted
            same += is_same
            yield redecide(case, policy, rules=None if is_same else GateRules.SECOND)

    backtest = summarise(rows())
    alphas: tuple[AlphaCost, ...] = ()
    if request.labelled:
        said = [one.uncertainty for one in request.labelled]
        alphas = alpha_costs(said, [one.wrong for one in request.labelled], values, alphas=request.alphas)
    return BacktestResult(policy_hash=wanted, backtest=backtest, same_policy=same, alphas=alphas)


def recorded_cases(
    unit: Unit, tools: Tools, tenant_id: TenantId, *, since: Instant | None = None
) -> Iterator[RecordedCase]:
    """Every recorded decision in the order of entries, with its facts; `is_latest` is that which holds now."""
    agent = own_agent(tools)
    latest: dict[Digest, int] = {}
    for decision in unit.claims.decision_log(tenant_id):
        latest[decision.bundle_hash] = decision.position
    for decision in unit.claims.decision_log(tenant_id):
        if since is not None and decision.decided_at < since:
            continue
        row = unit.claims.find_bundle(tenant_id, decision.bundle_hash)
        if row is None:
            raise DamagedRecordError(f"expected the bundle of decision {decision.sequence_number}, got none")
        told = _told(decision)
        case = recorded_case(row, told, _contents(unit, tenant_id, row), own_agent=agent)
        yield case if latest[decision.bundle_hash] == decision.position else _earlier(case)


def _earlier(case: RecordedCase) -> RecordedCase:
    return dataclasses.replace(case, is_latest=False)


def _policy(unit: Unit, tenant_id: TenantId, request: BacktestRequest) -> ClaimsPolicy:
    if request.policy is None:
        return active_policy(unit, tenant_id)
    return parse_policy(split_signed_policy(request.policy).document)


def _told(decision: RecordedDecision) -> ClaimsDecided:
    try:
        return msgspec.json.decode(decision.text, type=ClaimsDecided)
    except msgspec.MsgspecError as error:
        raise DamagedRecordError(f"entry {decision.sequence_number} is no decision about claims: {error}") from error


def _contents(unit: Unit, tenant_id: TenantId, row: ReceivedBundle) -> dict[str, bytes]:
    hashes = pointer_hashes(msgspec.json.decode(row.text, type=ClaimBundle))
    sizes = unit.claims.evidence_sizes(tenant_id, tuple(sorted(hashes))) if hashes else {}
    found = {one: unit.claims.find_evidence(tenant_id, one) for one in sizes}
    return {one: held.content for one, held in found.items() if held is not None and held.content is not None}
