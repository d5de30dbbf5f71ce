"""A bundle of claims in, a decision out: durable before anybody hears of it, and approved by people where they must.

authenticate -> read strictly -> origin is the submitter -> receive (durable) -> gates -> decide (durable) -> answer
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from assay.claims.bundle import ClaimBundle, bundle_hash
from assay.claims.errors import BundleError
from assay.claims.estimate.estimate import Estimate
from assay.claims.parse_bundle import Reading, check_bundle
from assay.claims.problem import ClaimProblem, render_claim_problems
from assay.flows.admit_principal import admit_principal
from assay.flows.attach_evidence import keep_contents
from assay.flows.claims_entry import (
    BundleContext,
    ClaimsRefused,
    received_entry,
    received_row,
    refused_entry,
)
from assay.flows.claims_errors import NotOriginError, NotResumableError, ThreadNameError
from assay.flows.claims_facts import asked_of
from assay.flows.claims_rows import find_received
from assay.flows.claims_ticket import approvers_of
from assay.flows.decide_claims import FINAL, GatedClaims, decide_claims
from assay.flows.errors import NotFoundError
from assay.flows.tools import Tools
from assay.identity.principal import Principal
from assay.identity.problem import shortened
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import Digest, digest_of
from assay.kernel.errors import CanonicalError, Error
from assay.kernel.instant import Instant
from assay.ports.claims_store import ReceivedBundle
from assay.ports.database import Unit

__all__ = ["Estimator", "Submission", "gate_claims"]

_LONGEST_THREAD = 200

# Asks this node's own model about a claim: the question, and how uncertain the answer is.
Estimator = Callable[[str], Estimate]


class Submission(Struct, frozen=True, kw_only=True):
    """What comes with a bundle. `contents` are evidence by source, kept where they are what a pointer names.

    `thread` is the session that the bundle belongs to: tiers are followed through it. `questions` are by claim id; this
    node's own model is asked, and the stricter of what it and the agent say counts. `resumes` is the bundle of the same
    agent, deferred or waiting, whose place this one takes.
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
    context = BundleContext(tool_arguments=submission.tool_arguments)
    if submission.questions:
        context = _estimated(context, bundle, submission.questions, estimator)
    row = received_row(
        bundle,
        context,
        submitted_by=principal.id,
        thread=_checked_thread(submission.thread),
        resumes=submission.resumes,
        at=at,
    )
    _receive(tools, principal, row, bundle, submission.contents, credential, at)
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
        if unit.claims.find_bundle(tenant_id, row.bundle_hash) is not None:
            return
        for name in bundle.required_approvals:
            approvers_of(unit, tenant_id, name)
        if row.resumes is not None:
            _require_resumable(unit, row, principal)
        keep_contents(unit, tenant_id, bundle, contents, by=principal.id, at=at)
        receipt = unit.ledger.append(entry)
        unit.claims.add_bundle(tenant_id, replace(row, sequence_number=receipt.sequence_number))

    tools.database.write(work)


def _require_resumable(unit: Unit, row: ReceivedBundle, principal: Principal) -> None:
    earlier = find_received(unit, principal.tenant_id, row.resumes or Digest(""))
    if earlier is None or earlier.submitted_by != principal.id:
        raise NotFoundError(f"`{principal.id}` has sent no bundle `{row.resumes}`")
    decisions = asked_of(unit, principal.tenant_id, earlier.bundle_hash)
    if decisions and decisions[-1].outcome.decision in FINAL:
        raise NotResumableError(f"expected a bundle that waits, got one of decision {decisions[-1].outcome.decision}")
    if unit.claims.find_successor(principal.tenant_id, earlier.bundle_hash) is not None:
        raise NotResumableError(f"expected a bundle without a successor, got `{earlier.bundle_hash}`, which has one")


def _estimated(
    context: BundleContext, bundle: ClaimBundle, questions: Mapping[str, str], estimator: Estimator | None
) -> BundleContext:
    """A check that was asked for and cannot be made gives the stricter answer."""
    unknown = sorted(questions.keys() - {claim.id for claim in bundle.claims})
    if unknown:
        return replace(
            context, estimate_problem=f"expected questions for claims of the bundle, got `{unknown[0][:80]}`"
        )
    if estimator is None:
        return replace(context, estimate_problem="expected a model that draws answers, got none")
    try:
        return replace(context, estimates={name: estimator(asked) for name, asked in sorted(questions.items())})
    except Error as error:
        return replace(context, estimate_problem=f"{error.code}: {error}")


def _checked_thread(thread: str | None) -> str | None:
    if thread is not None and not (1 <= len(thread) <= _LONGEST_THREAD and thread.isprintable()):
        raise ThreadNameError(f"expected a thread of 1 to {_LONGEST_THREAD} printable characters")
    return thread


def _not_origin(tools: Tools, principal: Principal, bundle: ClaimBundle, at: Instant) -> NotOriginError:
    told = f"expected origin_agent `{principal.id}`, got `{shortened(bundle.origin_agent)}`"
    error = NotOriginError(told)
    refusal = ClaimsRefused(document_hash=bundle_hash(bundle), submitted_by=principal.id, code=error.code, reason=told)
    tools.database.append(refused_entry(principal.tenant_id, refusal, at=at))
    return error


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


_LONGEST_REASON = 4000


def _hash_of(document: bytes | str | dict[str, Any]) -> Digest:
    """Of the bytes as they came; a value that was never bytes has those of its JSON, where it has any."""
    if isinstance(document, bytes):
        return digest_of(document)
    if isinstance(document, str):
        return digest_of(document.encode(errors="replace"))
    try:
        return digest_of(canonicalize(document))
    except CanonicalError:
        return digest_of(repr(document).encode(errors="replace"))
