"""Answer a question; the answer is gated and marked before anybody sees it (PRAMANA 5).

authorise -> answerer -> rules and strands -> gates -> level -> annotation -> floor -> seal -> record -> the body
Two reads and one commit: query type and policy, then rules and strands after the answerer's time, then the record. No
answer leaves without its gate decision, its annotation and its recorded rules; a failure before the commit leaves no
answer. An answer that the gates do not publish is stored, and people are asked where they can let it through.
"""

from typing import Annotated, Any, NamedTuple

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
from assay.delivery.federate import Agreement
from assay.delivery.query import QueryType, check_expectation, rules_behind
from assay.delivery.rule import Citation, RuleRef, cite, render_ref
from assay.delivery.strand import StrandResult
from assay.delivery.twowrong import Step, StepKind, verify_steps
from assay.facts.claims import AskedTicket
from assay.flows.claims.claims_facts import active_policy
from assay.flows.claims.decide_claims import decide_claims
from assay.flows.claims.gate_output import GatedOutput, OutputRules, gate_output, hold_output, load_output_rules
from assay.flows.claims.output_claims import claim_of_answer, plain_claims
from assay.flows.delivery.answer_record import AnswerRecord, answer_entry, failure_entry
from assay.flows.delivery.answerers import built_in_answerer
from assay.flows.delivery.delivery_entry import text_of
from assay.flows.delivery.peers import Marks, agreement_for, marks_of
from assay.flows.delivery.query_types import read_queries
from assay.flows.delivery.rule_rows import load_rules
from assay.flows.delivery.strands import check_core, settle_report
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
from assay.kernel.errors import Error
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
    loaded = tools.database.read(lambda unit: _load(unit, principal, request.query_type, at))
    kind = loaded.kind
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
        reply, output = _sound(_said(tools, principal, name, asked))
        found = tools.database.read(lambda unit: _look(unit, tools, principal, asked, loaded, reply))
        rules = found.cited.rules
        gated = _gated(tools, answer_id, asked, reply, rules, loaded)
        marks = marks_of(tools, settle_report(tools, asked, rules, found.strands), found.agreement)
        annotation = _annotated(tools, answer_id, asked, reply, rules, output, gated, marks)
    except _UNANSWERED as error:
        # A question without an answer is recorded, whatever the reason.
        failed = failure_entry(tools, principal, asked, error, at=at)
        tools.database.write(lambda unit: unit.record(failed))
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


class _Loaded(NamedTuple):
    """What is read before the answerer works: the query type with its place in the registry, and the gates' policy."""

    kind: QueryType | None
    source: str
    gates: OutputRules


class _Found(NamedTuple):
    """What is read after it: the rules behind the answer, the node's own strands, and what was agreed with a peer."""

    cited: Citation
    strands: tuple[StrandResult, ...]
    agreement: Agreement | None


def _load(unit: Unit, principal: Principal, slug: str, at: Instant) -> _Loaded:
    registry, rows = read_queries(unit, principal.tenant_id)
    row = rows.get(slug)
    source = f"{slug}@{row.version} in entry {row.sequence_number}" if row is not None else "no such type"
    return _Loaded(
        kind=registry.types.get(slug),
        source=f"query registry: {source}",
        gates=load_output_rules(unit, principal, at=at),
    )


def _said(tools: Tools, principal: Principal, name: str, asked: Question) -> object:
    """The reply of the answerer. Ours reads the stores and runs here; another's has its own threads, places and time.

    A question that cannot be answered is refused as what it is; every other failure is `delivery.answerer`.
    """
    answerer = tools.delivery.answerers_of(principal.tenant_id).get(name)
    if answerer is not None:
        return _foreign(tools, principal, name, answerer, asked)
    own = built_in_answerer(tools, principal.tenant_id, name)
    if own is None:
        raise NoAnswererError(f"nobody here answers `{name[:80]}`")
    try:
        return own.answer(asked)
    except Exception as error:
        raise _refusal(error) from error


def _foreign(tools: Tools, principal: Principal, name: str, answerer: Answerer, asked: Question) -> object:
    settings, owner = tools.delivery, f"answerer {name}"
    if name in settings.tenant_answerers.get(principal.tenant_id, {}):
        # Two tenants may mean two peers by one name, and a slow one of one tenant is none of the other's.
        owner = f"{owner} of {principal.tenant_id}"
    seconds, places = settings.answer_seconds, settings.answers_at_once
    said = run_within(
        seconds,
        {owner: lambda: answerer.answer(asked)},
        caller=f"{principal.tenant_id} {principal.id}",
        places=places,
    )[owner]
    if isinstance(said, Late):
        if said.is_busy:
            raise AnswererError(f"`{name[:80]}` works on {places} questions, or half as many of yours, and is slow")
        raise AnswererError(f"expected an answer in {seconds:g} s, got none")
    if isinstance(said, Exception):
        raise _refusal(said) from said
    return said


def _refusal(error: Exception) -> Error:
    if isinstance(error, InvalidQuestionError | NotFoundError):
        return error
    told = str(error) if isinstance(error, Error) else type(error).__name__
    return AnswererError(f"the answerer failed: {told}"[:500])


def _look(unit: Unit, tools: Tools, principal: Principal, asked: Question, loaded: _Loaded, reply: Reply) -> _Found:
    """The rules of the reply in the versions in force, and which of the node's own strands they have."""
    kind, tenant_id = loaded.kind, principal.tenant_id
    try:
        named, declared = (reply.rules, ()) if kind is None else (rules_behind(kind, reply.rules), kind.rules)
        registry = load_rules(unit, tenant_id, (*named, *declared))
        cited = cite(registry, named, declared)
    except Error as error:
        raise AnswererError(f"the answer cannot be marked: {error}"[:500]) from error
    strands = check_core(unit, tools, tenant_id, asked, kind=kind, source=loaded.source, cited=cited, registry=registry)
    return _Found(cited=cited, strands=strands, agreement=agreement_for(unit, tools, principal))


def _sound(said: object) -> tuple[Reply, bytes]:
    """The reply as it is recorded, and the canonical bytes of its output; its steps must allow to judge an outcome.

    The output is encoded apart from the rest: a value that is no canonical JSON is refused before it is read as some.
    """
    if not isinstance(said, Reply):
        raise AnswererError(f"the answer cannot be marked: expected a reply, got `{type(said).__name__}`")
    try:
        canonical = canonicalize(said.output)
        bare = msgspec.json.decode(msgspec.json.encode(replace(said, output=None)), type=Reply)
        # A copy, as it travels: the answerer may go on changing its own while this one is hashed and recorded.
        output = msgspec.json.decode(msgspec.json.encode(said.output))
        verify_steps(bare.steps)
    except Error as error:
        raise AnswererError(f"the answer cannot be marked: {error}"[:500]) from error
    except (msgspec.MsgspecError, TypeError, ValueError) as error:
        told = f"expected JSON, rules, steps and claims in a reply: {error}"
        raise AnswererError(f"the answer cannot be marked: {told}"[:500]) from error
    return replace(bare, output=output), canonical


def _gated(
    tools: Tools,
    answer_id: str,
    asked: Question,
    reply: Reply,
    rules: tuple[RuleRef, ...],
    loaded: _Loaded,
) -> GatedOutput:
    """Put the answer through the gates: as the claims that the answerer makes, else as the one that any answer is."""
    names = [render_ref(ref) for ref in rules]
    claims = reply.claims or plain_claims((claim_of_answer(answer_id, asked.query_type, reply.output, names),))
    tier = RiskTier.READ_ONLY if loaded.kind is None else loaded.kind.risk_tier
    return gate_output(tools, claims, loaded.gates, tier=tier, asked_by=asked.asked_by, at=asked.asked_at)


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
        hold_output(unit, tenant_id, gated.waiting, gated.context, answer_id=answer_id, at=at)
    text = text_of(record)
    draft = answer_entry(tools, tenant_id, record, body, record_hash=digest_of(text.encode()), at=at)
    row = DeliveredAnswer(
        answer_id=annotation.answer_id,
        query_type=annotation.query_type,
        asked_by=principal.id,
        level=annotation.authenticity_level,
        text=text,
        answered_at=annotation.answered_at,
        sequence_number=0,
        short_of=None if record.shortfall is None else str(record.shortfall.expected_level),
    )
    return unit.record(draft, row)


def _ask_people(tools: Tools, tenant_id: TenantId, annotation: Annotation, at: Instant) -> tuple[AskedTicket, ...]:
    """Where an answer waits, the decision about it is put on record with its tickets; the answer itself is kept."""
    gate = annotation.gate
    if not gate or gate.bundle_hash is None:
        return ()
    return decide_claims(tools, tenant_id, gate.bundle_hash, at=at).tickets
