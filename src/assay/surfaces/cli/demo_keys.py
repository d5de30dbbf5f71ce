"""The demonstration's people and agents, added by the operator of its folder."""

from msgspec import UNSET
from msgspec.structs import asdict

from assay.flows.identity import principals
from assay.flows.identity.api_keys import IssueKey, issue_key
from assay.flows.tools import Tools
from assay.identity.caller import local_caller
from assay.identity.principal import LOCAL_OPERATOR, Principal, PrincipalChange, PrincipalKind
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant


def add_principal(
    tools: Tools,
    tenant_id: TenantId,
    principal_id: PrincipalId,
    *,
    kind: PrincipalKind,
    name: str,
    granted: PrincipalChange | None = None,
    password: str | None = None,
    by: PrincipalId = LOCAL_OPERATOR,  # noqa: ARG001 - the operator adds everybody
    at: Instant,
) -> Principal:
    """Add somebody with what is granted."""
    changes = (
        {} if granted is None else {field: value for field, value in asdict(granted).items() if value is not UNSET}
    )
    wanted = principals.AddPrincipal(
        **{"principal_id": principal_id, "kind": kind, "name": name, "password": password, **changes}
    )
    return principals.add_principal(tools, local_caller(tenant_id, at=at), wanted)


def issue_api_key(
    tools: Tools, tenant_id: TenantId, principal_id: PrincipalId, *, by: PrincipalId = LOCAL_OPERATOR, at: Instant
) -> tuple[str, PrincipalId]:
    """The text of a new key, and who issued it."""
    caller = local_caller(tenant_id, at=at)
    return str(issue_key(tools, caller, IssueKey(principal_id=principal_id)).value.api_key), by
