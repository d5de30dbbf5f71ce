"""A question is answered, and the answer is marked before anybody sees it (PRAMANA 5).

authorise -> answerer -> rules -> strands -> level -> annotation -> floor -> seal -> record and events -> the body
No answer leaves without its annotation and its recorded rules; whatever fails before the commit leaves no answer.
"""

from msgspec import Struct

from assay.delivery.annotate import Annotation, AnswerBody, AnswerFacts, annotate, deliver, seal_body
from assay.delivery.answerer import Answerer, Question, Reply
from assay.delivery.query import QueryType, check_expectation, rules_behind
from assay.delivery.rule import RuleRef, refs_of, render_ref
from assay.delivery.strand import StrandReport
from assay.delivery.trace import loop_at_delivery, loop_at_query
from assay.delivery.twowrong import Step, StepKind
from assay.flows.answer_entry import answer_entry, failure_entry
from assay.flows.answer_record import AnswerRecord
from assay.flows.answer_sources import built_in_answerer
from assay.flows.authenticate import authenticate_in
from assay.flows.check_strands import check_strands
from assay.flows.delivery_entry import text_of
from assay.flows.errors import AnswererError, NoAnswererError
from assay.flows.register_query import load_queries
from assay.flows.rule_rows import load_rules
from assay.flows.time_limit import Late, run_within
from assay.flows.tools import Tools
from assay.identity.principal import Principal
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import digest_of
from assay.kernel.errors import CanonicalError, Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.json_text import JsonValue
from assay.kernel.ledger import Receipt
from assay.ports.database import Unit
from assay.ports.delivery_store import DeliveredAnswer
from assay.registry.errors import BitsMissingError, TierClosedError
from assay.registry.permission import has_all, mask_of

__all__ = ["Delivered", "can_query", "deliver_answer", "require_query"]

_QUERY = mask_of(["QUERY"])
_ID_BYTES = 16


class Delivered(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the reader gets, and the entry that proves it."""

    answer_id: str
    body: AnswerBody
    receipt: Receipt


def deliver_answer(
    tools: Tools,
    query_type: str,
    question: JsonValue,
    *,
    credential: str,
    session_id: str | None = None,
    at: Instant,
) -> Delivered:
    """The answer for this reader. An answerer that fails is `delivery.answerer`; a missing strand never refuses."""
    principal, kind = tools.database.read(lambda unit: _admit(unit, query_type, credential, at))
    asked = Question(
        query_type=query_type, question=question, asked_by=principal.id, asked_at=at, session_id=session_id
    )
    name = query_type if kind is None else kind.answerer
    answerer = _answerer(tools, principal.tenant_id, name)
    try:
        reply, rules, output = _answer(tools, principal.tenant_id, answerer, asked, kind)
        strands = check_strands(tools, principal.tenant_id, asked, kind, rules)
        annotation = _annotated(tools, asked, reply, rules, output, strands)
    except AnswererError as error:
        failed = failure_entry(tools, principal, asked, error, at=at)
        tools.database.write(lambda unit: unit.ledger.append(failed))
        raise
    body = deliver(reply.output, annotation, floor=principal.authenticity_level_floor)
    signer = tools.ledger_signer
    sealed = seal_body(body, key_id=signer.key_id, sign=signer.sign)
    record = AnswerRecord(
        question=asked,
        answerer=name,
        output=reply.output,
        annotation=annotation,
        strands=strands,
        steps=_steps(reply, rules),
        claims=reply.claims,
        shortfall=None if kind is None else check_expectation(kind, annotation.authenticity_level),
        withheld=sealed.withheld,
    )
    receipt = tools.database.write(lambda unit: _record(unit, tools, principal, credential, record, sealed, at))
    return Delivered(answer_id=annotation.answer_id, body=sealed, receipt=receipt)


def require_query(principal: Principal) -> None:
    """Who may ask: the bit QUERY, and a tier that may read."""
    if principal.action_tier < 1:
        raise TierClosedError(f"expected `{principal.id}` to have tier 1 or more, got {principal.action_tier}")
    if not has_all(principal.trust_mask, _QUERY):
        raise BitsMissingError(f"expected `{principal.id}` to hold QUERY, got mask {principal.trust_mask}")


def can_query(principal: Principal) -> bool:
    """Whether `require_query` lets them ask."""
    return principal.action_tier >= 1 and has_all(principal.trust_mask, _QUERY)


def _admit(unit: Unit, slug: str, credential: str, at: Instant) -> tuple[Principal, QueryType | None]:
    principal = authenticate_in(unit, credential, at=at).principal
    require_query(principal)
    return principal, load_queries(unit, principal.tenant_id).types.get(slug)


def _answerer(tools: Tools, tenant_id: TenantId, name: str) -> Answerer:
    found = tools.delivery.answerers.get(name) or built_in_answerer(tools, tenant_id, name)
    if found is None:
        raise NoAnswererError(f"nobody here answers `{name[:80]}`")
    return found


def _answer(
    tools: Tools, tenant_id: TenantId, answerer: Answerer, asked: Question, kind: QueryType | None
) -> tuple[Reply, tuple[RuleRef, ...], bytes]:
    """The reply with its rules in the versions in force, and the canonical bytes of its output."""
    said = run_within(tools.delivery.answer_seconds, {"answer": lambda: answerer.answer(asked)})["answer"]
    if isinstance(said, Late):
        raise AnswererError(f"expected an answer in {tools.delivery.answer_seconds:g} s, got none")
    if isinstance(said, Exception):
        told = str(said) if isinstance(said, Error) else type(said).__name__
        raise AnswererError(f"the answerer failed: {told}"[:500]) from said
    try:
        named = said.rules if kind is None else rules_behind(kind, said.rules)
        registry = tools.database.read(lambda unit: load_rules(unit, tenant_id, named))
        return said, refs_of(registry, named), canonicalize(said.output)
    except (CanonicalError, Error) as error:
        raise AnswererError(f"the answer cannot be marked: {error}"[:500]) from error


def _annotated(
    tools: Tools, asked: Question, reply: Reply, rules: tuple[RuleRef, ...], output: bytes, strands: StrandReport
) -> Annotation:
    facts = AnswerFacts(
        answer_id=f"ans_{tools.entropy.token(_ID_BYTES).hex()}",
        query_type=asked.query_type,
        service=tools.delivery.service,
        rules=rules,
        output_hash=digest_of(output),
        answered_at=asked.asked_at,
        slm=reply.slm,
        components=reply.components,
    )
    try:
        return annotate(facts, strands, registry=tools.delivery.strands)
    except Error as error:
        raise AnswererError(f"the answer cannot be marked: {error}"[:500]) from error


def _steps(reply: Reply, rules: tuple[RuleRef, ...]) -> tuple[Step, ...]:
    """Every rule is a step, told by the answerer or not, so that a later conclusion about it reaches this answer."""
    told = {step.ref for step in reply.steps}
    own = [Step(kind=StepKind.RULE, ref=ref) for ref in map(render_ref, rules) if ref not in told]
    return (*reply.steps, *own)


def _record(
    unit: Unit,
    tools: Tools,
    principal: Principal,
    credential: str,
    record: AnswerRecord,
    body: AnswerBody,
    at: Instant,
) -> Receipt:
    # Who was shut out, or whose floor was raised, while the answerer thought gets nothing.
    again = authenticate_in(unit, credential, at=at).principal
    require_query(again)
    if again.authenticity_level_floor != principal.authenticity_level_floor:
        raise AnswererError(f"the floor of `{again.id}` changed meanwhile, ask again")
    tenant_id, annotation = principal.tenant_id, record.annotation
    receipt = unit.ledger.append(answer_entry(tools, tenant_id, record, body, at=at))
    row = DeliveredAnswer(
        answer_id=annotation.answer_id,
        query_type=annotation.query_type,
        asked_by=principal.id,
        level=annotation.authenticity_level,
        text=text_of(record),
        answered_at=annotation.answered_at,
        sequence_number=receipt.sequence_number,
    )
    unit.delivery.add_answer(tenant_id, row)
    place = f"entry {receipt.sequence_number}"
    queries = len(load_queries(unit, tenant_id).types)
    loops = (
        loop_at_query(annotation, record.strands, state=f"{tools.delivery.service} with {queries} query types"),
        loop_at_delivery(body.annotation, receiver=principal.id, event_id=place, at=at),
    )
    for loop in loops:
        unit.delivery.add_loop(tenant_id, annotation.answer_id, text_of(loop))
    return receipt
