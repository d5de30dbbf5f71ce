"""A bundle of claims in, a decision out: durable before anybody hears of it, and approved by people where they must.

authenticate -> read strictly -> origin is the submitter -> receive (durable) -> gates -> decide (durable) -> answer
"""

import reprlib
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from assay.claims.bundle import ClaimBundle, Decision, bundle_hash
from assay.claims.decide import arguments_hash, run_gates
from assay.claims.errors import BundleError
from assay.claims.estimate.estimate import Estimate
from assay.claims.gate import GateFacts, standard_gates
from assay.claims.parse_bundle import Reading, check_bundle, parse_bundle
from assay.claims.policy import ClaimsPolicy
from assay.claims.problem import ClaimProblem, render_claim_problems
from assay.flows.claims.attach_evidence import keep_contents
from assay.flows.claims.claims_entry import (
    BundleContext,
    ClaimsRefused,
    received_entry,
    received_row,
    refused_entry,
)
from assay.flows.claims.claims_facts import active_policy, asked_of
from assay.flows.claims.claims_rows import find_received
from assay.flows.claims.claims_ticket import approvers_of
from assay.flows.claims.decide_claims import FINAL, GatedClaims, decide_claims, record_decision
from assay.flows.errors import NotFoundError
from assay.flows.errors.claims import NotOriginError, NotResumableError, ReceivedOtherwiseError, ThreadNameError
from assay.flows.identity.admit_principal import admit_principal
from assay.flows.tools import Tools
from assay.identity.principal import Principal
from assay.identity.problem import shortened
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import Digest, digest_of
from assay.kernel.errors import CanonicalError, Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntrySizeError
from assay.ports.claims_store import ReceivedBundle
from assay.ports.database import Unit

_LONGEST_THREAD = 200
_LONGEST_REASON = 4000
# Each is several answers of a model.
_MOST_QUESTIONS = 20

# Asks this node's own model about a claim: the question, and how uncertain the answer is.
Estimator = Callable[[str], Estimate]


class Submission(Struct, frozen=True, kw_only=True):
    """What comes with a bundle. `contents` are evidence by source, kept where they are what a pointer names.

    `thread` is the session that the bundle belongs to: tiers are followed through it. `questions` are by claim id; this
    node's own model is asked, and the stricter of what it and the agent say counts. Where the policy requires a
    computed uncertainty, the node asks the policy's own question about every claim in their place. `resumes` is the
    bundle of the same agent, deferred or waiting, whose place this one takes.
    """

    contents: Mapping[str, bytes] = {}
    tool_arguments: tuple[str, ...] = ()
    thread: str | None = None
    questions: Mapping[str, str] = {}
    resumes: Digest | None = None


_NOTHING_ELSE = Submission()


def gate_claims(
    tools: Tools,
    document: bytes | str | dict[str, Any],
    *,
    credential: str,
    at: Instant,
    reading: Reading = Reading.LEGACY,
    submission: Submission = _NOTHING_ELSE,
    estimator: Estimator | None = None,
) -> GatedClaims:
    """Gate one bundle; the same bundle again is answered with what is recorded.

    The same bundle again with `decision` REFUSE is its agent taking it back: it is refused for good, unless it was
    published before. With other tool arguments, or with more people asked for, it is refused with an error.

    What is no bundle, or not the sender's own, is refused with an error, and the refusal is on record. Everything else
    is an answer: PUBLISH, DEFER, ESCALATE or REFUSE.
    """
    principal = tools.database.read(lambda unit: admit_principal(unit, credential, at=at))
    finding = check_bundle(document, reading=reading)
    if finding.bundle is None:
        _refuse_document(tools, principal, document, finding.problems, at)
        raise BundleError(finding.problems)
    bundle = finding.bundle
    if bundle.origin_agent != principal.id:
        raise _not_origin(tools, principal, bundle, at)
    context = _context(tools, principal, bundle, submission, estimator)
    if finding.passages:
        context = replace(context, passages=finding.passages)
    row = received_row(
        bundle,
        context,
        submitted_by=principal.id,
        thread=_checked_thread(submission.thread),
        resumes=submission.resumes,
        at=at,
    )
    try:
        _receive(tools, principal, row, bundle, submission.contents, credential, at)
    except EntrySizeError as error:
        _log_refusal(tools, principal, row.bundle_hash, error, at)
        raise
    return decide_claims(tools, principal.tenant_id, row.bundle_hash, at=at)


def _receive(
    tools: Tools,
    principal: Principal,
    row: ReceivedBundle,
    bundle: ClaimBundle,
    contents: Mapping[str, bytes],
    credential: str,
    at: Instant,
) -> None:
    """The bundle is durable before any gate is asked: that is the audit record that MODIFY waits for."""
    tenant_id = principal.tenant_id
    entry = received_entry(tenant_id, row)

    def work(unit: Unit) -> None:
        admit_principal(unit, credential, at=at)
        known = find_received(unit, tenant_id, row.bundle_hash)
        if known is not None:
            _meet_again(unit, tenant_id, known, row, bundle)
            return
        for name in bundle.required_approvals:
            approvers_of(unit, tenant_id, name)
        if row.resumes is not None:
            _require_resumable(unit, row, principal)
        keep_contents(unit, tenant_id, bundle, contents, by=principal.id, at=at)
        receipt = unit.record(entry)
        unit.claims.add_bundle(tenant_id, replace(row, sequence_number=receipt.sequence_number))

    tools.database.write(work)


def _meet_again(
    unit: Unit, tenant_id: TenantId, known: ReceivedBundle, row: ReceivedBundle, bundle: ClaimBundle
) -> None:
    """What the hash of a bundle does not cover and its agent may still change: it can take it back, nothing else."""
    if bundle.decision is Decision.REFUSE:
        _withdraw(unit, tenant_id, known, bundle, row.received_at)
        return
    given = msgspec.json.decode(row.context, type=BundleContext)
    kept = msgspec.json.decode(known.context, type=BundleContext)
    if given.tool_arguments != kept.tool_arguments:
        expected, got = arguments_hash(kept.tool_arguments), arguments_hash(given.tool_arguments)
        told = f"expected the tool arguments {expected} that came with it, got {got}"
        raise ReceivedOtherwiseError(f"{told}: another call is another bundle")
    # The bundle as this node renders it is without its quotes: it may come back so.
    if given.passages is not UNSET and given.passages != kept.passages:
        told = "expected the quotes that came with it, got others"
        raise ReceivedOtherwiseError(f"{told}: put a bundle with an id of its own in its place")
    more = sorted({*bundle.required_approvals} - {*parse_bundle(known.text).required_approvals})
    if more:
        told = f"expected the required_approvals that it came with, got `{shortened(more[0])}` besides"
        raise ReceivedOtherwiseError(f"{told}: put a bundle that names more people in its place")


def _withdraw(unit: Unit, tenant_id: TenantId, known: ReceivedBundle, bundle: ClaimBundle, at: Instant) -> None:
    """A REFUSE on record, in the commit that hears of it; what was published or refused before stays so."""
    decisions = asked_of(unit, tenant_id, known.bundle_hash)
    if decisions and decisions[-1].outcome.decision in FINAL:
        return
    facts = GateFacts(now=at, submitter=known.submitted_by, risk_ceiling=None)
    outcome = run_gates(bundle, standard_gates(()), facts, active_policy(unit, tenant_id))
    record_decision(unit, tenant_id, bundle, outcome, position=len(decisions) + 1)


def _require_resumable(unit: Unit, row: ReceivedBundle, principal: Principal) -> None:
    earlier = find_received(unit, principal.tenant_id, row.resumes or Digest(""))
    if earlier is None or earlier.submitted_by != principal.id:
        raise NotFoundError(f"`{principal.id}` has sent no bundle `{row.resumes}`")
    decisions = asked_of(unit, principal.tenant_id, earlier.bundle_hash)
    if decisions and decisions[-1].outcome.decision in FINAL:
        raise NotResumableError(f"expected a bundle that waits, got one of decision {decisions[-1].outcome.decision}")
    if unit.claims.find_successor(principal.tenant_id, earlier.bundle_hash) is not None:
        raise NotResumableError(f"expected a bundle without a successor, got `{earlier.bundle_hash}`, which has one")


def _context(
    tools: Tools, principal: Principal, bundle: ClaimBundle, submission: Submission, estimator: Estimator | None
) -> BundleContext:
    """The model is asked once about a bundle, before it is received."""
    context = BundleContext(tool_arguments=submission.tool_arguments)
    policy = tools.database.read(lambda unit: _policy_for(unit, principal.tenant_id, bundle))
    if policy is None:
        return context
    if policy.uncertainty.require_computed and estimator is not None:
        asked = {claim.id: policy.uncertainty.question_for(claim.statement) for claim in bundle.claims}
        return _estimated(context, bundle, asked, estimator)
    return _estimated(context, bundle, submission.questions, estimator) if submission.questions else context


def _policy_for(unit: Unit, tenant_id: TenantId, bundle: ClaimBundle) -> ClaimsPolicy | None:
    """None where the bundle is known: nothing is asked about it any more."""
    is_known = unit.claims.find_bundle(tenant_id, bundle_hash(bundle)) is not None
    return None if is_known else active_policy(unit, tenant_id)


def _estimated(
    context: BundleContext, bundle: ClaimBundle, questions: Mapping[str, str], estimator: Estimator | None
) -> BundleContext:
    """A check that was asked for and cannot be made gives the stricter answer."""
    unknown = sorted(questions.keys() - {claim.id for claim in bundle.claims})
    if unknown:
        return replace(
            context, estimate_problem=f"expected questions for claims of the bundle, got `{unknown[0][:80]}`"
        )
    if len(questions) > _MOST_QUESTIONS:
        told = f"expected at most {_MOST_QUESTIONS} claims to ask a model about, got {len(questions)}"
        return replace(context, estimate_problem=told)
    if estimator is None:
        return replace(context, estimate_problem="expected a model that draws answers, got none")
    try:
        estimates = {name: _made(estimator(asked)) for name, asked in sorted(questions.items())}
    except Error as error:
        return replace(context, estimate_problem=f"{error.code}: {error}")
    except Exception as error:  # noqa: BLE001  whatever broke in a judge, the bundle is on record and goes no further
        return replace(context, estimate_problem=f"fault: {type(error).__name__}")
    return replace(context, estimates=estimates, questions=dict(questions))


def _made(found: object) -> Estimate:
    """Whatever an operator's estimator returns, only an estimate goes on record as one."""
    if not isinstance(found, Estimate):
        raise TypeError(type(found).__name__)
    return found


def _checked_thread(thread: str | None) -> str | None:
    if thread is not None and not (1 <= len(thread) <= _LONGEST_THREAD and thread.isprintable()):
        raise ThreadNameError(f"expected a thread of 1 to {_LONGEST_THREAD} printable characters")
    return thread


def _not_origin(tools: Tools, principal: Principal, bundle: ClaimBundle, at: Instant) -> NotOriginError:
    told = f"expected origin_agent `{principal.id}`, got `{shortened(bundle.origin_agent)}`"
    error = NotOriginError(told)
    _log_refusal(tools, principal, bundle_hash(bundle), error, at)
    return error


def _log_refusal(tools: Tools, principal: Principal, wanted: Digest, error: Error, at: Instant) -> None:
    refusal = ClaimsRefused(document_hash=wanted, submitted_by=principal.id, code=error.code, reason=str(error))
    tools.database.append(refused_entry(principal.tenant_id, refusal, at=at))


def _refuse_document(
    tools: Tools,
    principal: Principal,
    document: bytes | str | dict[str, Any],
    problems: tuple[ClaimProblem, ...],
    at: Instant,
) -> None:
    refusal = ClaimsRefused(
        document_hash=_hash_of(document),
        submitted_by=principal.id,
        code=BundleError.code,
        reason=render_claim_problems(problems)[:_LONGEST_REASON],
        problems=tuple(replace(one, pointer=one.pointer[:200], message=one.message[:300]) for one in problems),
    )
    tools.database.append(refused_entry(principal.tenant_id, refusal, at=at))


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
