"""What the node said, as a ClaimBundle of its own: a state, the verdicts of a record, or an answer.

record -> claims -> bundle by the node's agent, not gated: whoever acts on it hands it to the gates
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from assay.claims.bundle import Claim, ClaimBundle
from assay.delivery.rule import render_ref
from assay.flows.claims.claims_facts import own_agent
from assay.flows.claims.output_claims import (
    at_least,
    bundle_claims,
    claim_of_answer,
    claims_of_state,
    claims_of_verdicts,
)
from assay.flows.delivery.answer_record import AnswerRecord, get_record
from assay.flows.delivery.query_types import load_queries
from assay.flows.errors.delivery import AnswererError
from assay.flows.request import Request
from assay.flows.tools import Tools
from assay.flows.truth.states import KeyName, show_truth
from assay.flows.verdicts.read_verdicts import show_verdict
from assay.identity.caller import Caller
from assay.identity.risk import RiskTier
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit


class ExportState(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    key: KeyName


class ExportVerdicts(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    telemetry_id: Annotated[str, Meta(description="The id of a telemetry record.")]


def state_claims(tools: Tools, caller: Caller, request: ExportState) -> ClaimBundle:
    """Export the latest state of a key as a FACT with its evidence, as sure as it is now; made anew each time."""
    shown = show_truth(tools, caller.tenant_id, request.key, at=caller.at)
    return _bundle(tools, claims_of_state(shown), caller.at)


def verdict_claims(tools: Tools, caller: Caller, request: ExportVerdicts) -> ClaimBundle:
    """Export the verdicts of a record as INFERENCE that cites the clauses; one that is held is claimed as held."""
    shown = show_verdict(tools, caller.tenant_id, request.telemetry_id)
    return _bundle(tools, claims_of_verdicts(shown), caller.at)


def export_answer_claims(tools: Tools, tenant_id: TenantId, answer_id: str, *, at: Instant) -> ClaimBundle:
    """An answer by the claims that it was gated by, at least at the tier of its kind.

    They tell its output: the caller of this function has checked who asks.
    """
    record, tier = tools.database.read(lambda unit: _look(unit, tenant_id, answer_id))
    return _bundle(tools, at_least(_claims(record), tier), at)


def _look(unit: Unit, tenant_id: TenantId, answer_id: str) -> tuple[AnswerRecord, RiskTier]:
    record = get_record(unit, tenant_id, answer_id)
    kind = load_queries(unit, tenant_id).types.get(record.question.query_type)
    return record, RiskTier.READ_ONLY if kind is None else kind.risk_tier


def _claims(record: AnswerRecord) -> tuple[Claim, ...]:
    annotation = record.annotation
    if not record.claims:
        rules = [render_ref(ref) for ref in annotation.rules]
        return (claim_of_answer(annotation.answer_id, annotation.query_type, record.output, rules),)
    try:
        return tuple(msgspec.convert(one, Claim) for one in record.claims)
    except msgspec.ValidationError as error:
        raise AnswererError(f"expected claims behind `{annotation.answer_id}`, got something else: {error}") from error


def _bundle(tools: Tools, claims: tuple[Claim, ...], at: Instant) -> ClaimBundle:
    return bundle_claims(claims, origin_agent=own_agent(tools), entropy=tools.entropy, at=at)
