"""A question is answered, and the answer is gated and marked before anybody sees it (PRAMANA 5).

authorise -> answerer -> rules -> gates -> strands -> level -> annotation -> floor -> seal -> record -> the body
No answer leaves without its gate decision, its annotation and its recorded rules; whatever fails before the commit
leaves no answer. What the gates do not publish is kept, and people are asked where they can let it through.
"""

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from assay.claims.policy import policy_hash
from assay.delivery.annotate import (
    HEADER,
    Annotation,
    AnswerBody,
    AnswerFacts,
    annotate,
    deliver,
    question_digest,
    render_header,
    seal_body,
)
from assay.delivery.answerer import Answerer, Question, Reply
from assay.delivery.errors import InvalidQuestionError
from assay.delivery.query import QueryType, check_expectation, rules_behind
from assay.delivery.rule import Citation, RuleRef, cite, render_ref
from assay.delivery.trace import loop_at_delivery, loop_at_query
from assay.delivery.twowrong import Step, StepKind, verify_steps
from assay.flows.claims.claims_entry import AskedTicket
from assay.flows.claims.claims_facts import active_policy
from assay.flows.claims.decide_claims import decide_claims
from assay.flows.claims.gate_output import GatedOutput, OutputRules, gate_output, hold_output, load_output_rules
from assay.flows.claims.output_claims import claim_of_answer, plain_claims
from assay.flows.delivery.answer_entry import answer_entry, failure_entry
from assay.flows.delivery.answer_record import AnswerRecord
from assay.flows.delivery.answer_sources import built_in_answerer
from assay.flows.delivery.check_strands import check_strands
from assay.flows.delivery.delivery_entry import text_of
from assay.flows.delivery.peer_agreement import Marks, marked_for
from assay.flows.delivery.query_types import load_queries
from assay.flows.delivery.rule_rows import load_rules
from assay.flows.errors import NotFoundError
from assay.flows.errors.delivery import AnswererError, NoAnswererError
from assay.flows.identity.authenticate import confirm, require_credential
from assay.flows.request import Done, Option, Request
from assay.flows.time_limit import Late, run_within
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.identity.principal import Principal
from assay.identity.risk import RiskTier
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import Digest, digest_of
from assay.kernel.errors import CanonicalError, Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.json_text import JsonValue
from assay.kernel.ledger import Receipt
from assay.ports.database import Unit
from assay.ports.delivery_store import DeliveredAnswer
from assay.registry.errors import BitsMissingError, TierClosedError
from assay.registry.permission import has_all, mask_of

_UNANSWERED = (
    AnswererError,
    BitsMissingError,
    InvalidQuestionError,
    NoAnswererError,
    NotFoundError,
    TierClosedError,
)
_QUERY = mask_of(["QUERY"])
_ID_BYTES = 16
_SALT_BYTES = 16


class AskQuestion(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    query_type: Annotated[
        str,
        Meta(description="The query type, such as `vessel.ukc-status`."),
        Option(form="argument", metavar="QUERY_TYPE"),
    ]
    question: Annotated[
        Any,
        Meta(description="The question, any JSON that its answerer takes."),
        Option(form="argument", metavar="[JSON]"),
    ] = msgspec.field(default_factory=dict)
    session_id: Annotated[
        str | None, Meta(description="Distinguishes the outcomes of one conversation from those of another.")
    ] = None
    nonce: Annotated[
        str | None, Meta(description="16 to 128 visible characters, new each time; returned in the sealed annotation.")
    ] = None


class AnsweredQuestion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The answer as its asker gets it, the entry that proves it, and the open tickets that it waits for."""

    answer_id: str
    body: AnswerBody
    sequence_number: int
    entry_hash: Digest
    tickets: tuple[AskedTicket, ...]


def ask(tools: Tools, caller: Caller, request: AskQuestion) -> Done[AnsweredQuestion]:
    """Ask a question of a registered type. The answer is gated, marked and recorded before it is returned.

    It is withheld below the caller's floor, and where the gates do not publish it; then the result names the tickets
    that people have to answer. A missing strand never refuses. An answerer that fails is `delivery.answerer`.
    """
    require_credential(caller)
    principal, at = caller.principal, caller.at
    kind, gates = tools.database.read(lambda unit: _load(unit, principal, request.query_type, at))
    answer_id = f"ans_{tools.entropy.token(_ID_BYTES).hex()}"
    asked = Question(
        query_type=request.query_type,
        question=request.question,
        asked_by=principal.id,
        asked_at=at,
        session_id=request.session_id,
        nonce=request.nonce,
    )
    name = request.query_type if kind is None else kind.answerer
    try:
        require_query(principal)
        answerer = _answerer(tools, principal.tenant_id, name)
        said = _said(tools, name, answerer, asked)
        reply, cited, output = _answered(tools, principal.tenant_id, said, kind)
        rules = cited.rules
        gated = _gated(tools, answer_id, asked, reply, rules, kind, gates)
        checked = check_strands(tools, principal.tenant_id, asked, kind, cited)
        marks = marked_for(tools, principal, checked)
        annotation = _annotated(tools, answer_id, asked, reply, rules, output, gated, marks)
    except _UNANSWERED as error:
        # A question without an answer is recorded, whatever the reason.
        failed = failure_entry(tools, principal, asked, error, at=at)
        tools.database.write(lambda unit: unit.ledger.append(failed))
        raise
    sealed = seal_for(tools, principal, reply.output, annotation)
    record = AnswerRecord(
        question=asked,
        answerer=name,
        output=reply.output,
        annotation=annotation,
        strands=marks.strands,
        steps=_steps(reply, rules),
        claims=reply.claims,
        shortfall=None if kind is None else check_expectation(kind, annotation.authenticity_level),
        withheld=sealed.withheld,
        salt=tools.entropy.token(_SALT_BYTES).hex(),
    )
    receipt = tools.database.write(lambda unit: _record(unit, tools, caller, record, sealed, gated))
    tickets = _ask_people(tools, principal.tenant_id, annotation, at)
    return answered(answer_id, sealed, receipt, tickets)


def answered(
    answer_id: str, body: AnswerBody, receipt: Receipt, tickets: tuple[AskedTicket, ...]
) -> Done[AnsweredQuestion]:
    """The result for the asker; HTTP carries the level in a header too (PRAMANA 8)."""
    value = AnsweredQuestion(
        answer_id=answer_id,
        body=body,
        sequence_number=receipt.sequence_number,
        entry_hash=receipt.entry_hash,
        tickets=tickets,
    )
    return Done(value=value, headers={HEADER: render_header(body.annotation)})


def seal_for(tools: Tools, principal: Principal, output: JsonValue, annotation: Annotation) -> AnswerBody:
    """The body as this reader gets it, signed."""
    body = deliver(output, annotation, floor=principal.authenticity_level_floor)
    signer = tools.ledger_signer
    return seal_body(body, key_id=signer.key_id, sign=signer.sign)


def require_query(principal: Principal) -> None:
    """Who may ask: the bit QUERY, and a tier that may read."""
    if principal.action_tier < 1:
        raise TierClosedError(f"expected `{principal.id}` to have tier 1 or more, got {principal.action_tier}")
    if not has_all(principal.trust_mask, _QUERY):
        raise BitsMissingError(f"expected `{principal.id}` to hold QUERY, got mask {principal.trust_mask}")


def can_query(principal: Principal) -> bool:
    """Whether `require_query` lets them ask."""
    return principal.action_tier >= 1 and has_all(principal.trust_mask, _QUERY)


def _load(unit: Unit, principal: Principal, slug: str, at: Instant) -> tuple[QueryType | None, OutputRules]:
    kind = load_queries(unit, principal.tenant_id).types.get(slug)
    return kind, load_output_rules(unit, principal, at=at)


def _answerer(tools: Tools, tenant_id: TenantId, name: str) -> Answerer:
    found = tools.delivery.answerers.get(name) or built_in_answerer(tools, tenant_id, name)
    if found is None:
        raise NoAnswererError(f"nobody here answers `{name[:80]}`")
    return found


def _said(tools: Tools, name: str, answerer: Answerer, asked: Question) -> object:
    """Whatever the answerer said in its time."""
    seconds, owner = tools.delivery.answer_seconds, f"answerer {name}"
    said = run_within(seconds, {owner: lambda: answerer.answer(asked)})[owner]
    if isinstance(said, Late):
        raise AnswererError(f"expected an answer in {seconds:g} s, got none")
    if isinstance(said, InvalidQuestionError | NotFoundError):
        # The answerer is well: what was asked cannot be answered, and whoever asked is told why.
        raise said
    if isinstance(said, Exception):
        told = str(said) if isinstance(said, Error) else type(said).__name__
        raise AnswererError(f"the answerer failed: {told}"[:500]) from said
    return said


def _answered(tools: Tools, tenant_id: TenantId, said: object, kind: QueryType | None) -> tuple[Reply, Citation, bytes]:
    """The reply with its rules in the versions in force, and the canonical bytes of its output."""
    try:
        reply = _sound(said)
        named, declared = (reply.rules, ()) if kind is None else (rules_behind(kind, reply.rules), kind.rules)
        registry = tools.database.read(lambda unit: load_rules(unit, tenant_id, (*named, *declared)))
        return reply, cite(registry, named, declared), canonicalize(reply.output)
    except (CanonicalError, Error) as error:
        raise AnswererError(f"the answer cannot be marked: {error}"[:500]) from error


def _sound(said: object) -> Reply:
    """What the answerer said, if it is a reply that can be put on record, and whose outcome can be judged by its steps.

    Its output is looked at apart from the rest: what is no canonical JSON is refused before it could be read as some.
    """
    if not isinstance(said, Reply):
        raise AnswererError(f"expected a reply, got `{type(said).__name__}`")
    canonicalize(said.output)
    try:
        bare = msgspec.json.decode(msgspec.json.encode(replace(said, output=None)), type=Reply)
        # A copy, as it travels: the answerer may go on changing its own while this one is hashed and recorded.
        output = msgspec.json.decode(msgspec.json.encode(said.output))
    except (msgspec.MsgspecError, TypeError, ValueError) as error:
        raise AnswererError(f"expected JSON, rules, steps and claims in a reply: {error}") from error
    verify_steps(bare.steps)
    return replace(bare, output=output)


def _gated(
    tools: Tools,
    answer_id: str,
    asked: Question,
    reply: Reply,
    rules: tuple[RuleRef, ...],
    kind: QueryType | None,
    gates: OutputRules,
) -> GatedOutput:
    """Put the answer through the gates: as the claims that the answerer makes, else as the one that any answer is."""
    names = [render_ref(ref) for ref in rules]
    claims = reply.claims or plain_claims((claim_of_answer(answer_id, asked.query_type, reply.output, names),))
    tier = RiskTier.READ_ONLY if kind is None else kind.risk_tier
    return gate_output(tools, claims, gates, tier=tier, asked_by=asked.asked_by, at=asked.asked_at)


def _annotated(
    tools: Tools,
    answer_id: str,
    asked: Question,
    reply: Reply,
    rules: tuple[RuleRef, ...],
    output: bytes,
    gated: GatedOutput,
    marks: Marks,
) -> Annotation:
    facts = AnswerFacts(
        question_hash=question_digest(asked.question),
        nonce=asked.nonce,
        answer_id=answer_id,
        query_type=asked.query_type,
        service=tools.delivery.service,
        rules=rules,
        output_hash=digest_of(output),
        answered_at=asked.asked_at,
        slm=reply.slm,
        components=reply.components,
        gate=gated.mark,
    )
    try:
        return annotate(facts, marks.strands, registry=marks.registry)
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
    caller: Caller,
    record: AnswerRecord,
    body: AnswerBody,
    gated: GatedOutput,
) -> Receipt:
    principal, at = caller.principal, caller.at
    # A caller who was disabled, or whose floor was raised, while the answerer worked gets nothing.
    again = confirm(unit, caller).principal
    require_query(again)
    if again.authenticity_level_floor != principal.authenticity_level_floor:
        raise AnswererError(f"the floor of `{again.id}` changed meanwhile, ask again")
    tenant_id, annotation = principal.tenant_id, record.annotation
    if policy_hash(active_policy(unit, tenant_id)) != gated.outcome.policy_hash:
        raise AnswererError("the policy of the gates changed meanwhile, ask again")
    if gated.waiting is not None:
        answer_id = annotation.answer_id
        hold_output(unit, tenant_id, gated.waiting, asked_by=principal.id, answer_id=answer_id, at=at)
    text = text_of(record)
    draft = answer_entry(tools, tenant_id, record, body, record_hash=digest_of(text.encode()), at=at)
    receipt = unit.ledger.append(draft)
    row = DeliveredAnswer(
        answer_id=annotation.answer_id,
        query_type=annotation.query_type,
        asked_by=principal.id,
        level=annotation.authenticity_level,
        text=text,
        answered_at=annotation.answered_at,
        sequence_number=receipt.sequence_number,
        short_of=None if record.shortfall is None else str(record.shortfall.expected_level),
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


def _ask_people(tools: Tools, tenant_id: TenantId, annotation: Annotation, at: Instant) -> tuple[AskedTicket, ...]:
    """Where an answer waits, the decision about it is put on record with its tickets; the answer itself is kept."""
    gate = annotation.gate
    if not gate or gate.bundle_hash is None:
        return ()
    return decide_claims(tools, tenant_id, gate.bundle_hash, at=at).tickets
