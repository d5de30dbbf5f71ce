"""A bundle that waits goes on: with what people answered meanwhile, or with another bundle in its place.

same bundle -> gated again with the answers of the desk;   more evidence -> a new bundle, linked -> gated
"""

from typing import Any

from msgspec.structs import replace

from assay.claims.parse_bundle import Reading
from assay.flows.claims.blind_claims import keep_back
from assay.flows.claims.claims_rows import find_received, is_asker
from assay.flows.claims.decide_claims import GatedClaims, decide_claims
from assay.flows.claims.gate_claims import Estimator, Submission, gate_claims
from assay.flows.errors import NotFoundError
from assay.flows.identity.admit_principal import admit_principal
from assay.flows.tools import Tools
from assay.identity.authorise import has_role, require_role
from assay.identity.principal import BuiltInRole, Principal
from assay.kernel.digest import Digest
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit

_SEE_ALL = (BuiltInRole.AUDITOR, BuiltInRole.OPERATOR, BuiltInRole.REVIEWER)
_TEAMS = (BuiltInRole.OPS_TEAM, BuiltInRole.SECURITY_TEAM)


def resume_claims(
    tools: Tools,
    wanted: Digest,
    document: bytes | str | dict[str, Any] | None = None,
    *,
    credential: str,
    at: Instant,
    reading: Reading = Reading.LEGACY,
    submission: Submission | None = None,
    estimator: Estimator | None = None,
) -> GatedClaims:
    """Decide again about a bundle that was deferred or waits for approval.

    Without a document the same bundle is gated again, by its agent or a reviewer. With one, that bundle takes its
    place: approvals given for the earlier one bind the earlier one, and that is never published any more.
    A reviewer who is still to answer by themselves is told nothing of what others answered.
    """
    if document is not None:
        linked = replace(submission or Submission(), resumes=wanted)
        return gate_claims(
            tools, document, credential=credential, at=at, reading=reading, submission=linked, estimator=estimator
        )
    principal = tools.database.read(lambda unit: _party(unit, wanted, credential, at))
    done = decide_claims(tools, principal.tenant_id, wanted, at=at)
    return tools.database.read(lambda unit: keep_back(unit, principal.tenant_id, done, principal))


def _party(unit: Unit, wanted: Digest, credential: str, at: Instant) -> Principal:
    principal = admit_principal(unit, credential, at=at)
    require_party(unit, principal.tenant_id, wanted, principal)
    return principal


def require_party(unit: Unit, tenant_id: TenantId, wanted: Digest, principal: Principal) -> None:
    """Its agent, or whoever may see the claims of others; to anybody else it is not there.

    Nor to whoever asked for the output that it claims: that is withheld from them until it is published.
    """
    row = find_received(unit, tenant_id, wanted)
    is_party = row is not None and (row.submitted_by == principal.id or has_role(principal, (*_SEE_ALL, *_TEAMS)))
    if row is None or not is_party or is_asker(row, principal):
        raise NotFoundError(f"tenant `{tenant_id}` has no bundle `{wanted}`")


def require_claims_of(viewer: Principal, asked: PrincipalId | None) -> PrincipalId | None:
    """Return whose bundles to list: their own, or those asked for where the viewer may see the claims of others."""
    if asked == viewer.id or has_role(viewer, _SEE_ALL):
        return asked
    if asked is not None:
        require_role(viewer, _SEE_ALL)
    return viewer.id
