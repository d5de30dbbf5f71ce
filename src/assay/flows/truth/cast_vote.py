"""A person votes on a key: an answer to its open validation ticket, and the key is compiled with it."""

from msgspec import Struct

from assay.flows.errors.truth import NoOpenTicketError
from assay.flows.identity.authenticate import authenticate_in
from assay.flows.review.answer_desk import answer_desk
from assay.flows.review.answer_review import Answered, SignedElsewhere
from assay.flows.tools import Tools
from assay.flows.truth.compile_truth import CompiledTruth
from assay.flows.truth.validation_ticket import find_validation_ticket
from assay.identity.caller import Caller
from assay.kernel.canonical import canonical_json
from assay.kernel.digest import Digest
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.signer import Signer
from assay.review.draft import Reply
from assay.review.ticket import Ticket
from assay.truth.contract import VoteType
from assay.truth.status import TruthStatus


class CastVote(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The signed answer that the vote is, recorded, and the state of the key with it.

    Without a state the key is not compiled yet, and `code` and `problem` say why; the vote stands all the same.
    """

    answered: Answered
    compiled: CompiledTruth | None = None
    code: str | None = None
    problem: str | None = None


def cast_vote(
    tools: Tools,
    truthkey: str,
    vote_type: VoteType,
    *,
    seen: Digest,
    reason: str = "",
    override_status: TruthStatus | None = None,
    signing: Signer | SignedElsewhere | None = None,
    credential: str,
    at: Instant,
) -> CastVote:
    """Vote on a key, as a person who saw what its ticket shows, which has the hash `seen`.

    Whatever is raised, no vote was recorded. A crash before the key is compiled leaves the key stale, and never the
    vote lost: whoever compiles next counts it.
    """
    caller, ticket = tools.database.read(lambda unit: _asked(unit, truthkey, credential, at))
    body = {} if override_status is None else {"override_status": override_status.value}
    reply = Reply(choice=vote_type.value.lower(), seen=seen, reason=reason, body=canonical_json(body))
    done = answer_desk(tools, caller, ticket.id, reply, signing=signing)
    if done.recount is None:
        return CastVote(answered=done.answered)
    compiled, code, problem = done.recount.compiled, done.recount.code, done.recount.problem
    return CastVote(answered=done.answered, compiled=compiled, code=code, problem=problem)


def get_validation_ticket(unit: Unit, truthkey: str, credential: str, *, at: Instant) -> tuple[TenantId, Ticket]:
    """The open question about a key, in the tenant of whoever is signed in."""
    caller, ticket = _asked(unit, truthkey, credential, at)
    return caller.tenant_id, ticket


def _asked(unit: Unit, truthkey: str, credential: str, at: Instant) -> tuple[Caller, Ticket]:
    caller = authenticate_in(unit, credential, at=at)
    ticket = find_validation_ticket(unit, caller.tenant_id, truthkey)
    if ticket is None:
        raise NoOpenTicketError(f"nobody is asked about `{truthkey[:200]}` now")
    return caller, ticket
