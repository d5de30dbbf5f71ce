"""The one order in which every secret of ours is judged."""

from dataclasses import dataclass

from assay.identity._secret import matches
from assay.identity.finding import CredentialFinding, CredentialState
from assay.identity.principal import Principal
from assay.kernel.digest import Digest
from assay.kernel.instant import Instant, render_instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifetime:
    """From `starts_at`, up to and not including the earlier of the two ends."""

    starts_at: Instant
    ends_at: Instant | None
    revoked_at: Instant | None


def check_secret(
    secret: str | None, expected: Digest, principal: Principal, lifetime: Lifetime, *, at: Instant
) -> CredentialFinding:
    """Check secret and lifetime; None stands for a secret that this request has shown already."""
    if secret is not None and not matches(secret, expected):
        return _no(CredentialState.WRONG_SECRET, "the secret does not match")
    if lifetime.revoked_at is not None and at >= lifetime.revoked_at:
        return _no(CredentialState.REVOKED, f"revoked at {render_instant(lifetime.revoked_at)}")
    if at < lifetime.starts_at:
        return _no(CredentialState.NOT_YET_VALID, f"valid from {render_instant(lifetime.starts_at)}")
    if lifetime.ends_at is not None and at >= lifetime.ends_at:
        return _no(CredentialState.EXPIRED, f"expired at {render_instant(lifetime.ends_at)}")
    if not principal.is_active(at):
        return _no(CredentialState.DISABLED, f"`{principal.id}` is disabled")
    return CredentialFinding(state=CredentialState.VALID, reason=f"`{principal.id}` holds the secret")


def _no(state: CredentialState, reason: str) -> CredentialFinding:
    return CredentialFinding(state=state, reason=reason)
