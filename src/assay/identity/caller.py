"""The caller: who makes a request, how they proved it, when, and under which trace id.

credential -> authenticate -> Caller -> every flow; the secret itself never leaves the door
"""

from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from assay.identity.access import Needs, Standing
from assay.identity.credential import EVERY_SCOPE, covers
from assay.identity.principal import LOCAL_OPERATOR, BuiltInRole, Principal, PrincipalKind
from assay.identity.risk import RiskTier
from assay.kernel.digest import Digest
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.trace import TraceId

NOBODY = PrincipalId("unknown:nobody")


class Via(StrEnum):
    """How a principal was authenticated; only a session shows that a person is present."""

    API_KEY = "api_key"
    SESSION = "session"
    SIGNED_REQUEST = "signed_request"
    LOCAL = "local"
    NOBODY = "nobody"


class Proof(Struct, frozen=True, kw_only=True):
    """What authenticated the caller: the kind and the public half of a credential, never a secret.

    `scopes` may narrow what the principal may do, and never widen it. A signed request also names its `nonce` and the
    hash of its signature, under which the node recorded that it was used.
    """

    via: Via
    credential_id: str
    scopes: tuple[str, ...]
    nonce: str | None = None
    signed_hash: Digest | None = None


class Caller(Struct, frozen=True, kw_only=True):
    """One authenticated request. `needs` is what the operation required; it is checked again at commit time."""

    tenant_id: TenantId
    principal: Principal
    proof: Proof
    at: Instant
    trace: TraceId | None = None
    needs: Needs | None = None

    @property
    def via(self) -> Via:
        return self.proof.via

    @property
    def credential_id(self) -> str:
        return self.proof.credential_id

    @property
    def scopes(self) -> tuple[str, ...]:
        return self.proof.scopes

    @property
    def is_local(self) -> bool:
        """Whether this is the operator of the node's folder, who holds its keys."""
        return self.proof.via is Via.LOCAL

    @property
    def has_session(self) -> bool:
        """Whether a person acts now; the operator of the folder counts, since no check could hold them back."""
        return self.proof.via in (Via.SESSION, Via.LOCAL)

    @property
    def viewer(self) -> Principal | None:
        """Whose permissions limit what is shown; None for the operator of the folder, who can read the database."""
        return None if self.is_local else self.principal

    def has_scope(self, scope: str) -> bool:
        return covers(self.proof.scopes, scope)

    def standing(self, active_tier: int) -> Standing:
        return Standing(
            principal=self.principal, scopes=self.scopes, active_tier=active_tier, has_session=self.has_session
        )

    def as_of(self, at: Instant) -> "Caller":
        """The same caller at a later instant of the same request."""
        return replace(self, at=at)


def local_caller(tenant_id: TenantId, *, at: Instant, trace: TraceId | None = None) -> Caller:
    """The operator of the node's folder: every built-in role, no session of a person, no key of their own.

    Reviews are answered by people, so this caller can never answer a ticket.
    """
    principal = Principal(
        id=LOCAL_OPERATOR,
        tenant_id=tenant_id,
        kind=PrincipalKind.SERVICE,
        name="local operator",
        roles=tuple(sorted(str(role) for role in BuiltInRole)),
        trust_mask=0,
        action_tier=3,
        risk_ceiling=RiskTier.READ_ONLY,
        created_at=at,
        recorded_at=at,
        recorded_by=LOCAL_OPERATOR,
    )
    proof = Proof(via=Via.LOCAL, credential_id=LOCAL_OPERATOR, scopes=(EVERY_SCOPE,))
    return Caller(tenant_id=tenant_id, principal=principal, proof=proof, at=at, trace=trace)


def anonymous_caller(tenant_id: TenantId, address: str, *, at: Instant, trace: TraceId | None = None) -> Caller:
    """A caller who has not signed in, known by the address they ask from: allowed what is open, and nothing else."""
    principal = Principal(
        id=NOBODY,
        tenant_id=tenant_id,
        kind=PrincipalKind.SERVICE,
        name="nobody",
        created_at=at,
        recorded_at=at,
        recorded_by=NOBODY,
    )
    proof = Proof(via=Via.NOBODY, credential_id=address, scopes=())
    return Caller(tenant_id=tenant_id, principal=principal, proof=proof, at=at, trace=trace)
