"""A signed request becomes a principal: the signature first, then its time, then its nonce, which is used up.

signed request -> registered key -> signature -> live key -> fresh -> nonce on record -> Authenticated
"""

from assay.flows.errors.identity import IdentityFlowError, NotSignedInError
from assay.flows.identity.authenticate import Authenticated, check_signed, signed_hash
from assay.flows.tools import Tools
from assay.identity.signed_request import REQUEST_SKEW, SignedRequest, verify_fresh
from assay.kernel.instant import Instant
from assay.ports.access_store import UsedNonce
from assay.ports.database import Unit


def admit_request(tools: Tools, request: SignedRequest, *, at: Instant) -> Authenticated:
    """The principal whose key signed it, once; what is wrong is told only to whoever holds the key."""
    tools.database.read(lambda unit: _require(unit, request, at))
    verify_fresh(request, at=at)

    def work(unit: Unit) -> Authenticated:
        # Once more in the commit that uses the nonce: the key may have ended since.
        proved = _require(unit, request, at)
        _use_nonce(unit, request, at)
        return proved

    return tools.database.write(work)


def _require(unit: Unit, request: SignedRequest, at: Instant) -> Authenticated:
    _, proved = check_signed(unit, request, at=at)
    if proved is None:
        raise NotSignedInError("expected a request signed with a registered key, got another")
    return proved


def _use_nonce(unit: Unit, request: SignedRequest, at: Instant) -> None:
    given = request.input
    if unit.access.find_nonce(given.key_id, given.nonce) is not None:
        raise IdentityFlowError.replayed(f"the nonce `{given.nonce}` was used before; each request needs its own")
    unit.access.forget_nonces(before=at)
    # As long as this very request would be fresh: its time may lie ahead of ours.
    expires_at = Instant(given.created_at + 2 * REQUEST_SKEW)
    unit.access.use_nonce(
        UsedNonce(key_id=given.key_id, nonce=given.nonce, signed_hash=signed_hash(request), expires_at=expires_at)
    )
