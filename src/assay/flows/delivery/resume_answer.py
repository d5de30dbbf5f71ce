"""An answer that the gates held back is asked for again: with what people answered meanwhile, it is given out or not.

caller -> the asker's own answer -> gates again, with what people said -> PUBLISH: seal, record, the body
"""

from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from assay.claims.bundle import Decision
from assay.claims.risk import highest_tier
from assay.flows.claims.claims_facts import ceiling_of
from assay.flows.claims.decide_claims import decide_claims
from assay.flows.claims.gate_output import mark_of
from assay.flows.delivery.answer_record import AnswerRecord, answer_entry, get_record
from assay.flows.delivery.deliver_answer import AnsweredQuestion, answered, require_query, seal_for
from assay.flows.delivery.delivery_entry import text_of
from assay.flows.errors import NotFoundError
from assay.flows.errors.claims import ClaimsFlowError
from assay.flows.errors.delivery import AnswererError
from assay.flows.identity.authenticate import confirm, require_credential
from assay.flows.request import Done, Request
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.identity.risk import RiskTier
from assay.kernel.digest import digest_of
from assay.kernel.ledger import Receipt
from assay.ports.database import Unit
from assay.registry.errors import TierClosedError


class ResumeAnswer(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    answer_id: Annotated[str, Meta(description="The id of your own answer that the gates held back.")]


def resume_answer(tools: Tools, caller: Caller, request: ResumeAnswer) -> Done[AnsweredQuestion]:
    """Ask again for one's own answer that the gates held back, with what people answered meanwhile.

    What people let through is published for good; `claims.not_resumable` where no gate holds the answer back. A caller
    who may no longer act at its tier does not get it.
    """
    require_credential(caller)
    principal, answer_id, at = caller.principal, request.answer_id, caller.at
    record, _ = tools.database.read(lambda unit: _admit(unit, caller, answer_id))
    gate = record.annotation.gate
    if not gate or gate.bundle_hash is None:
        raise ClaimsFlowError.not_resumable(
            f"expected an answer that waits for people, got `{answer_id[:80]}`, which does not"
        )
    gated = decide_claims(tools, principal.tenant_id, gate.bundle_hash, at=at)
    waiting = None if gated.decision is Decision.PUBLISH else gate.bundle_hash
    annotation = replace(record.annotation, gate=mark_of(gated.outcome, waiting))
    body = seal_for(tools, principal, record.output, annotation)
    told = replace(record, annotation=annotation, withheld=body.withheld)

    def work(unit: Unit) -> Receipt:
        again = confirm(unit, caller)
        _, ceiling = _admit(unit, again, answer_id)
        if again.principal.authenticity_level_floor != principal.authenticity_level_floor:
            raise AnswererError(f"the floor of `{principal.id}` changed meanwhile, ask again")
        if not body.withheld and (ceiling is None or highest_tier(gated.bundle) > ceiling):
            raise TierClosedError(f"expected `{principal.id}` to act at {highest_tier(gated.bundle)}, got {ceiling}")
        kept = digest_of(text_of(record).encode())
        draft = answer_entry(tools, principal.tenant_id, told, body, record_hash=kept, at=at, resumed=True)
        return unit.record(draft)

    return answered(answer_id, body, tools.database.write(work), gated.tickets)


def _admit(unit: Unit, caller: Caller, answer_id: str) -> tuple[AnswerRecord, RiskTier | None]:
    principal = caller.principal
    require_query(principal)
    record = get_record(unit, caller.tenant_id, answer_id)
    if record.question.asked_by != principal.id:
        raise NotFoundError(f"`{principal.id}` was given no answer `{answer_id[:80]}`")
    return record, ceiling_of(unit, principal, caller.at)
