"""A bundle of claims in, a decision out: bundle and decision are durable before the caller is answered.

caller -> read strictly -> origin is the caller -> facts -> gates -> bundle, decision and tickets in one commit
A bundle that waits goes on with what people answered meanwhile, or with another bundle in its place.
"""

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, field
from msgspec.structs import replace

from assay.claims.bundle import ClaimBundle, Decision, bundle_hash
from assay.claims.decide import arguments_hash, run_gates
from assay.claims.errors import BundleError
from assay.claims.gate import GateFacts, standard_gates
from assay.claims.parse_bundle import BundleFinding, Reading, check_bundle, parse_bundle
from assay.claims.problem import ClaimProblem, render_claim_problems
from assay.facts.claims import BundleContext, ClaimsRefused, received_entry, received_row, refused_entry
from assay.flows.claims.claims_facts import Case, active_policy, asked_of, is_case_current, load_new_case
from assay.flows.claims.claims_ticket import approvers_of
from assay.flows.claims.decide_claims import (
    FINAL,
    TRIES,
    GatedClaims,
    ask_gates,
    decide_claims,
    record_decision,
    record_outcome,
    told_of,
)
from assay.flows.claims.estimate import estimated_context
from assay.flows.claims.evidence import check_contents, store_contents
from assay.flows.claims.show_claims import keep_back, require_party, show_claims
from assay.flows.errors import NotFoundError
from assay.flows.errors.claims import ClaimsFlowError
from assay.flows.identity.authenticate import confirm, require_credential
from assay.flows.request import (
    BulkLine,
    Document,
    Done,
    FieldProblem,
    FieldsError,
    Header,
    Option,
    Request,
    parse_or_not_found,
    require_match,
)
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.identity.principal import Principal, PrincipalKind
from assay.identity.problem import shortened
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import Digest, digest_of, parse_digest
from assay.kernel.errors import CanonicalError, Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.json_text import BODY_DEPTH, Limits, parse_json
from assay.kernel.ledger import EntrySizeError, Head
from assay.ports.claims_store import ReceivedBundle
from assay.ports.database import Unit

LINES = "application/x-ndjson"
_LONGEST_THREAD = 200
_LONGEST_REASON = 4000
_WAITING = (Decision.DEFER.value, Decision.ESCALATE.value)
_MOST_TWINS = 20
_LINE_LIMITS = Limits(max_depth=BODY_DEPTH, exact_numbers=True)


def parse_object(text: str) -> object:
    return parse_json(text.encode())


class _Submitted(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What comes with a bundle."""

    thread: Annotated[
        str | None, Meta(description="The session that the bundle belongs to: tiers are followed through it.")
    ] = None
    tool_arguments: Annotated[
        tuple[str, ...], Meta(description="What tools are to be called with."), Option(flag="--tool-argument")
    ] = ()
    questions: Annotated[
        dict[str, str],
        Meta(description="Ask the node's own model this about a claim, by claim id; the stricter answer counts."),
        Option(flag="--question", form="pairs", metavar="CLAIM TEXT"),
    ] = field(default_factory=dict)
    contents: Annotated[
        dict[str, bytes],
        Meta(description="Content of a source, stored; refused unless a pointer of the bundle names its hash."),
        Option(flag="--evidence", form="file_pairs", metavar="SOURCE FILE"),
    ] = field(default_factory=dict)
    reading: Annotated[Reading, Meta(description="`strict` reads no short hashes, and no ids that are not UUIDs.")] = (
        Reading.LEGACY
    )


class GateBundle(_Submitted, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A bundle as in ClaimBundle 2.0, and what comes with it."""

    bundle: Annotated[
        dict[str, Any],
        Meta(description="The bundle."),
        Option(form="text_argument", metavar="FILE|-", read=parse_object),
    ]


class GateBundles(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    bundles: Annotated[
        bytes,
        Meta(description="In each line a bundle with what comes with it, as `claims.gate` takes it."),
        Document(kind=GateBundle, media_type=LINES, metavar="FILE|-"),
    ]


class ResumeBundle(_Submitted, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Without a bundle the same one is gated again; with one, that takes its place."""

    bundle_hash: Annotated[str, Meta(description="The hash of the bundle that waits."), Option(metavar="HASH")]
    bundle: Annotated[
        dict[str, Any] | None,
        Meta(description="The bundle that takes its place."),
        Option(form="text_argument", metavar="[FILE|-]", read=parse_object),
    ] = None
    if_match: Annotated[
        str | None,
        Meta(description="The ETag of the bundle as it was read: 412 where it changed since."),
        Header("If-Match"),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taken:
    """A bundle that is new, with all that its gates are given, and the head of the ledger at that time."""

    case: Case
    contents: dict[str, bytes]
    head: Head


def gate(tools: Tools, caller: Caller, request: GateBundle) -> Done[GatedClaims]:
    """Gate a bundle of the caller's own: evidence, uncertainty, security, adversarial, human approval.

    DEFER, ESCALATE and REFUSE are answers, and on record like a PUBLISH. The same bundle again is answered with what is
    recorded; with `decision` REFUSE its agent takes it back. What is no bundle, or not the caller's own, is refused,
    and the refusal is on record.
    """
    done = gate_document(tools, caller, request.bundle, request)
    return Done(value=done, is_new=done.is_new)


def gate_bundles(tools: Tools, caller: Caller, request: GateBundles) -> tuple[BulkLine, ...]:
    """Gate bundles in lines, in order; each line is decided and recorded, or refused, by itself.

    The same bundle is decided once, so lines that got no answer may be sent again.
    """
    require_credential(caller)
    lines = [line for line in request.bundles.splitlines() if line.strip()]
    return tuple(_gate_line(tools, caller, number, line) for number, line in enumerate(lines, 1))


def resume(tools: Tools, caller: Caller, request: ResumeBundle) -> Done[GatedClaims]:
    """Gate a bundle that waits again, with what people answered since; or put another one in its place.

    Without a bundle the same one is gated again, by its agent or by somebody who may see it. With one, that takes its
    place: approvals of the earlier one bind the earlier one, which is never published any more. A reviewer who is still
    to answer alone is not shown what others answered.
    """
    wanted = parse_or_not_found(parse_digest, request.bundle_hash, "bundle")

    def require(unit: Unit) -> None:
        require_party(unit, caller, wanted)
        if request.if_match is not None:
            require_match(
                request.if_match, show_claims(unit, tools, caller.tenant_id, wanted, caller.viewer, caller.at)
            )

    if request.bundle is not None:
        tools.database.read(require)
        done = gate_document(tools, caller, request.bundle, request, resumes=wanted)
        return Done(value=done, is_new=done.is_new)
    if request.contents or request.tool_arguments or request.questions or request.thread is not None:
        told = "expected a bundle with contents, tool_arguments, questions and thread, got none"
        raise FieldsError([FieldProblem(field="bundle", message=told, pointer="/bundle")])
    done = decide_claims(tools, caller.tenant_id, wanted, at=caller.at, require=require)
    seen = tools.database.read(lambda unit: keep_back(unit, caller.tenant_id, done, caller.viewer))
    return Done(value=seen, is_new=seen.is_new)


def gate_document(
    tools: Tools,
    caller: Caller,
    document: bytes | str | dict[str, Any],
    submitted: _Submitted,
    *,
    resumes: Digest | None = None,
) -> GatedClaims:
    """Gate one document as the caller's bundle; `resumes` is the bundle whose place it takes."""
    require_credential(caller)
    thread = _checked_thread(submitted.thread)
    finding = check_bundle(document, reading=submitted.reading)
    if finding.bundle is None:
        _refuse_document(tools, caller, document, finding.problems)
        raise BundleError(finding.problems)
    bundle = finding.bundle
    if bundle.origin_agent != caller.principal.id:
        raise _not_origin(tools, caller, bundle)
    context = BundleContext(tool_arguments=submitted.tool_arguments)
    if finding.passages:
        context = replace(context, passages=finding.passages)
    row = received_row(bundle, context, submitted_by=caller.principal.id, thread=thread, resumes=resumes, at=caller.at)
    asked: BundleContext | None = None
    for _ in range(TRIES):
        taken = tools.database.read(lambda unit: _take(unit, tools, caller, row, finding, submitted.contents))
        if taken is None:
            return _again(tools, caller, row, bundle)
        if asked is None:
            # The model is asked once about a bundle.
            case, policy = taken.case, taken.case.standing.policy
            asked = estimated_context(
                tools, caller.tenant_id, policy, case.bundle, case.context, submitted.questions, at=caller.at
            )
        done = _decide(tools, caller, taken, asked)
        if done is not None:
            return done
    raise ClaimsFlowError.busy(
        f"expected the facts of `{row.bundle_hash}` to stay the same, got a change {TRIES} times"
    )


def _gate_line(tools: Tools, caller: Caller, number: int, line: bytes) -> BulkLine:
    try:
        request = msgspec.convert(parse_json(line, limits=_LINE_LIMITS), GateBundle)
        done = gate_document(tools, caller, request.bundle, request)
    except msgspec.ValidationError as error:
        return BulkLine(line=number, status="refused", code=FieldsError.code, problem=str(error))
    except Error as error:
        return BulkLine(line=number, status="refused", code=error.code, problem=str(error))
    receipt = {
        "bundle_hash": done.bundle_hash,
        "decision": done.decision.value,
        "reason": done.outcome.reason,
        "sequence_number": done.sequence_number,
    }
    return BulkLine(line=number, status="recorded" if done.is_new else "known", receipt=receipt)


def _take(
    unit: Unit,
    tools: Tools,
    caller: Caller,
    row: ReceivedBundle,
    finding: BundleFinding,
    contents: Mapping[str, bytes],
) -> _Taken | None:
    """Everything that the gates need about a new bundle, in one read; None where the bundle is known."""
    bundle = finding.bundle
    assert bundle is not None  # noqa: S101 - the caller checked it
    if unit.claims.find_bundle(caller.tenant_id, row.bundle_hash) is not None:
        return None
    for name in bundle.required_approvals:
        approvers_of(unit, caller.tenant_id, name)
    given = check_contents(bundle, contents)
    context = msgspec.json.decode(row.context, type=BundleContext)
    case = load_new_case(unit, tools, caller.principal, row, bundle, context, contents=given, at=caller.at)
    return _Taken(case=case, contents=given, head=unit.ledger.head(caller.tenant_id))


def _decide(tools: Tools, caller: Caller, taken: _Taken, context: BundleContext) -> GatedClaims | None:
    """Run the gates, then record bundle and decision in one commit; None where what they rest on changed meanwhile."""
    case = taken.case.with_context(context)
    outcome, reports = ask_gates(tools, case)
    if outcome.decision not in FINAL and case.row.resumes is None:
        twin = tools.database.read(lambda unit: _find_twin(unit, caller.tenant_id, case))
        if twin is not None:
            return decide_claims(tools, caller.tenant_id, twin, at=caller.at)

    def work(unit: Unit) -> GatedClaims | None:
        principal = confirm(unit, caller).principal
        if not _is_current(unit, taken, case, principal, caller.at):
            return None
        if case.row.resumes is not None:
            _require_resumable(unit, case.row, principal)
        store_contents(unit, caller.tenant_id, taken.contents, by=principal.id, at=caller.at)
        unit.record(entry)
        last = case.turns.last
        recorded = record_outcome(unit, tools, caller.tenant_id, case, outcome, reports, last_turn=last)
        return told_of(case, recorded, is_new=True)

    try:
        # Rendered on this thread, not on the writer's.
        entry = received_entry(caller.tenant_id, case.row, case.bundle, context)
        return tools.database.write(work)
    except EntrySizeError as error:
        _log_refusal(tools, caller, case.row.bundle_hash, error)
        raise


def _find_twin(unit: Unit, tenant_id: TenantId, case: Case) -> Digest | None:
    """The bundle of the same agent with the same id, claims and tool arguments about which people are being asked.

    It came with another timestamp. Nobody is asked twice: the later one is not received, and answered with the earlier.
    """
    row = case.row
    under = unit.pages.bundles(
        tenant_id, submitted_by=row.submitted_by, bundle_id=row.bundle_id, decisions=_WAITING, limit=_MOST_TWINS
    )
    for one in under:
        context = msgspec.json.decode(one.context, type=BundleContext)
        said = (context.tool_arguments, context.passages, one.thread)
        is_same = said == (case.context.tool_arguments, case.context.passages, row.thread)
        bundle = parse_bundle(one.text)
        asks = (case.bundle.claims, case.bundle.required_approvals)
        if is_same and (bundle.claims, bundle.required_approvals) == asks and _is_asked(unit, tenant_id, one):
            return one.bundle_hash
    return None


def _is_asked(unit: Unit, tenant_id: TenantId, row: ReceivedBundle) -> bool:
    """Whether a ticket about it is open, and nothing took its place."""
    if unit.claims.find_successor(tenant_id, row.bundle_hash) is not None:
        return False
    asked = (one.ticket_id for told in asked_of(unit, tenant_id, row.bundle_hash) for one in told.tickets)
    return any(unit.review.find_settlement(tenant_id, one) is None for one in asked)


def _is_current(unit: Unit, taken: _Taken, case: Case, principal: Principal, at: Instant) -> bool:
    """What a decision rests on is recorded in the tenant's ledger: where that did not grow, nothing changed.

    But a service's kill switch, which is the node's, and the principal, which was just confirmed.
    """
    is_same = unit.ledger.head(principal.tenant_id) == taken.head and principal.kind is not PrincipalKind.SERVICE
    if is_same and principal.risk_ceiling == case.standing.ceiling:
        return True
    return is_case_current(unit, case, principal, at=at)


def _again(tools: Tools, caller: Caller, row: ReceivedBundle, bundle: ClaimBundle) -> GatedClaims:
    """A bundle that came before: its agent can take it back, and is answered with what is recorded."""
    if bundle.decision is Decision.REFUSE:
        tools.database.write(lambda unit: _withdraw(unit, confirm(unit, caller), row.bundle_hash, bundle))
    else:
        tools.database.read(lambda unit: _require_same(unit, caller.tenant_id, row, bundle))
    return decide_claims(tools, caller.tenant_id, row.bundle_hash, at=caller.at)


def _require_same(unit: Unit, tenant_id: TenantId, row: ReceivedBundle, bundle: ClaimBundle) -> None:
    """Raise where anything came otherwise that the hash of a bundle does not cover."""
    known = _get_received(unit, tenant_id, row.bundle_hash)
    given = msgspec.json.decode(row.context, type=BundleContext)
    kept = msgspec.json.decode(known.context, type=BundleContext)
    if given.tool_arguments != kept.tool_arguments:
        expected, got = arguments_hash(kept.tool_arguments), arguments_hash(given.tool_arguments)
        told = f"expected the tool arguments {expected} that came with it, got {got}"
        raise ClaimsFlowError.received_otherwise(f"{told}: another call is another bundle")
    # The bundle as this node renders it is without its quotes: it may come back so.
    if given.passages is not UNSET and given.passages != kept.passages:
        told = "expected the quotes that came with it, got others"
        raise ClaimsFlowError.received_otherwise(f"{told}: put a bundle with an id of its own in its place")
    more = sorted({*bundle.required_approvals} - {*parse_bundle(known.text).required_approvals})
    if more:
        told = f"expected the required_approvals that it came with, got `{shortened(more[0])}` besides"
        raise ClaimsFlowError.received_otherwise(f"{told}: put a bundle that names more people in its place")


def _withdraw(unit: Unit, caller: Caller, wanted: Digest, bundle: ClaimBundle) -> None:
    """Record a REFUSE in the commit that receives it; what was published or refused before stays so."""
    tenant_id = caller.tenant_id
    known, decisions = _get_received(unit, tenant_id, wanted), asked_of(unit, tenant_id, wanted)
    if decisions and decisions[-1].outcome.decision in FINAL:
        return
    facts = GateFacts(now=caller.at, submitter=known.submitted_by, risk_ceiling=None)
    outcome = run_gates(bundle, standard_gates(()), facts, active_policy(unit, tenant_id))
    record_decision(unit, tenant_id, bundle, outcome, position=len(decisions) + 1)


def _get_received(unit: Unit, tenant_id: TenantId, wanted: Digest) -> ReceivedBundle:
    known = unit.claims.find_bundle(tenant_id, wanted)
    if known is None:
        raise NotFoundError(f"tenant `{tenant_id}` has no bundle `{wanted}`")
    return known


def _require_resumable(unit: Unit, row: ReceivedBundle, principal: Principal) -> None:
    earlier = unit.claims.find_bundle(principal.tenant_id, row.resumes or Digest(""))
    if earlier is None or earlier.submitted_by != principal.id:
        raise NotFoundError(f"`{principal.id}` has sent no bundle `{row.resumes}`")
    decisions = asked_of(unit, principal.tenant_id, earlier.bundle_hash)
    if decisions and decisions[-1].outcome.decision in FINAL:
        raise ClaimsFlowError.not_resumable(
            f"expected a bundle that waits, got one of decision {decisions[-1].outcome.decision}"
        )
    if unit.claims.find_successor(principal.tenant_id, earlier.bundle_hash) is not None:
        raise ClaimsFlowError.not_resumable(
            f"expected a bundle without a successor, got `{earlier.bundle_hash}`, which has one"
        )


def _checked_thread(thread: str | None) -> str | None:
    if thread is not None and not (1 <= len(thread) <= _LONGEST_THREAD and thread.isprintable()):
        raise ClaimsFlowError.thread(f"expected a thread of 1 to {_LONGEST_THREAD} printable characters")
    return thread


def _not_origin(tools: Tools, caller: Caller, bundle: ClaimBundle) -> Error:
    told = f"expected origin_agent `{caller.principal.id}`, got `{shortened(bundle.origin_agent)}`"
    error = ClaimsFlowError.origin(told)
    _log_refusal(tools, caller, bundle_hash(bundle), error)
    return error


def _log_refusal(tools: Tools, caller: Caller, wanted: Digest, error: Error) -> None:
    by = caller.principal.id
    refusal = ClaimsRefused(document_hash=wanted, submitted_by=by, code=error.code, reason=str(error))
    tools.database.append(refused_entry(caller.tenant_id, refusal, at=caller.at))


def _refuse_document(
    tools: Tools, caller: Caller, document: bytes | str | dict[str, Any], problems: tuple[ClaimProblem, ...]
) -> None:
    refusal = ClaimsRefused(
        document_hash=_hash_of(document),
        submitted_by=caller.principal.id,
        code=BundleError.code,
        reason=render_claim_problems(problems)[:_LONGEST_REASON],
        problems=tuple(replace(one, pointer=one.pointer[:200], message=one.message[:300]) for one in problems),
    )
    tools.database.append(refused_entry(caller.tenant_id, refusal, at=caller.at))


def _hash_of(document: bytes | str | dict[str, Any]) -> Digest:
    """The hash of a document as it came; a value that was never bytes has that of its JSON, where it has any."""
    if isinstance(document, bytes):
        return digest_of(document)
    if isinstance(document, str):
        return digest_of(document.encode(errors="replace"))
    try:
        return digest_of(canonicalize(document))
    except CanonicalError:
        # In short: a value may be nested too deeply to be written out at all.
        return digest_of(reprlib.repr(document).encode(errors="replace"))
