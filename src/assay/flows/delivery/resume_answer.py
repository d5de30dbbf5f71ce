"""An answer that the gates held back is asked for again: with what people answered meanwhile, it is given out or not.

authenticate -> the asker's own answer -> gates again, with what people said -> PUBLISH: seal, record, the body
"""

from msgspec.structs import replace

from assay.claims.bundle import Decision
from assay.claims.risk import highest_tier
from assay.delivery.trace import loop_at_delivery
from assay.flows.claims.claims_facts import ceiling_of
from assay.flows.claims.decide_claims import decide_claims
from assay.flows.claims.gate_output import mark_of
from assay.flows.delivery.answer_entry import answer_entry
from assay.flows.delivery.answer_record import AnswerRecord, get_proven
from assay.flows.delivery.deliver_answer import Delivered, require_query, seal_for
from assay.flows.delivery.delivery_entry import text_of
from assay.flows.errors import NotFoundError
from assay.flows.errors.claims import NotResumableError
from assay.flows.errors.delivery import AnswererError
from assay.flows.identity.authenticate import authenticate_in
from assay.flows.tools import Tools
from assay.identity.principal import Principal
from assay.identity.risk import RiskTier
from assay.kernel.digest import digest_of
from assay.kernel.instant import Instant
from assay.kernel.ledger import Receipt
from assay.ports.database import Unit
from assay.registry.errors import TierClosedError

__all__ = ["resume_answer"]


def resume_answer(tools: Tools, answer_id: str, *, credential: str, at: Instant) -> Delivered:
    """The same answer as its asker gets it now; `claims.not_resumable` where no gate holds it back.

    What people let through is published once and for all; who may not act at its tier any more gets it no more.
    """
    principal, record, _ = tools.database.read(lambda unit: _admit(unit, answer_id, credential, at))
    gate = record.annotation.gate
    if not gate or gate.bundle_hash is None:
        raise NotResumableError(f"expected an answer that waits for people, got `{answer_id[:80]}`, which does not")
    gated = decide_claims(tools, principal.tenant_id, gate.bundle_hash, at=at)
    waiting = None if gated.decision is Decision.PUBLISH else gate.bundle_hash
    annotation = replace(record.annotation, gate=mark_of(gated.outcome, waiting))
    body = seal_for(tools, principal, record.output, annotation)
    told = replace(record, annotation=annotation, withheld=body.withheld)

    def work(unit: Unit) -> Receipt:
        again, _, ceiling = _admit(unit, answer_id, credential, at)
        if again.authenticity_level_floor != principal.authenticity_level_floor:
            raise AnswererError(f"the floor of `{again.id}` changed meanwhile, ask again")
        if not body.withheld and (ceiling is None or highest_tier(gated.bundle) > ceiling):
            raise TierClosedError(f"expected `{again.id}` to act at {highest_tier(gated.bundle)}, got {ceiling}")
        kept = digest_of(text_of(record).encode())
        draft = answer_entry(tools, principal.tenant_id, told, body, record_hash=kept, at=at)
        receipt = unit.ledger.append(draft)
        place = f"entry {receipt.sequence_number}"
        loop = loop_at_delivery(body.annotation, receiver=again.id, event_id=place, at=at)
        unit.delivery.add_loop(principal.tenant_id, answer_id, text_of(loop))
        return receipt

    receipt = tools.database.write(work)
    return Delivered(answer_id=answer_id, body=body, receipt=receipt, tickets=gated.tickets)


def _admit(unit: Unit, answer_id: str, credential: str, at: Instant) -> tuple[Principal, AnswerRecord, RiskTier | None]:
    principal = authenticate_in(unit, credential, at=at).principal
    require_query(principal)
    record = get_proven(unit, principal.tenant_id, answer_id)
    if record.question.asked_by != principal.id:
        raise NotFoundError(f"`{principal.id}` was given no answer `{answer_id[:80]}`")
    return principal, record, ceiling_of(unit, principal, at)
