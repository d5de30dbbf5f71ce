"""Operations about people, agents, services and what authenticates them."""

from collections.abc import Mapping
from typing import Any

from assay.flows.identity import api_keys, principals, sessions, tiers
from assay.flows.identity.api_keys import IssuedKey
from assay.flows.identity.principals import AmendedPrincipal
from assay.identity.principal import BuiltInRole
from assay.operations.access import explain_access
from assay.operations.kinds import OPEN, SIGNED_IN, Change, Listing, Operation, Read, needs, no_if
from assay.operations.shown import identity as shown
from assay.registry.action import Tier

PERSON_IN_SESSION = needs("identity:write", session=True)
ADMIN_IN_SESSION = needs("identity:write", BuiltInRole.ADMIN, session=True)
IN_SESSION = needs(None, session=True, tier=Tier.READ)
SEE_KEYS = needs("identity:read")
SEE_PRINCIPALS = needs("identity:read", BuiltInRole.ADMIN, BuiltInRole.AUDITOR, BuiltInRole.OPERATOR)
ASK_IN_SESSION = needs("identity:write", BuiltInRole.ADMIN, BuiltInRole.OPERATOR, session=True)


def _waits(_given: Mapping[str, Any], made: Any) -> str | None:  # noqa: ANN401 - a result that may wait
    return None if made.waiting is None else shown.waits(made.waiting)


def _key_notes(_given: Mapping[str, Any], made: IssuedKey) -> str:
    waiting = "" if made.waiting is None else f"{shown.waits(made.waiting)}\n"
    return f"{waiting}the key of {made.principal_id}, shown once:"


def _no_credential(given: Mapping[str, Any], added: AmendedPrincipal) -> str | None:
    """A person who cannot sign in yet is easily forgotten."""
    if not added.is_person() or given.get("password") is not None:
        return None
    return f"{added.id} cannot sign in yet: set a password with `assay principal password {added.id}`, or use OIDC"


# `/whoami` is the short path that 0.1.0 had.
CALLER_SHOW = Read(
    "caller.show",
    sessions.whoami,
    "GET /whoami",
    needs=SIGNED_IN,
    dialects=("GET /whoami",),
    command="principal whoami",
    tool="whoami",
)

OPERATIONS: tuple[Operation, ...] = (
    Change(
        "session.start",
        sessions.log_in,
        "POST /sessions",
        needs=OPEN,
        command="principal login",
        example={"principal_id": "user:amira", "password": "correct horse battery staple"},
        says="{session_token}",
        notes="session of {principal_id} until {expires_at}; keep it in ASSAY_SESSION",
        crew="log_in",
    ),
    Change(
        "session.end",
        sessions.log_out,
        "POST /sessions/end",
        needs=IN_SESSION,
        command="principal logout",
        says="ended {session_id}",
    ),
    CALLER_SHOW,
    Read(
        "access.explain",
        explain_access,
        "GET /why",
        needs=SIGNED_IN,
        command="principal why",
        method="why",
        shows=shown.requirements_text,
        blames=no_if(lambda found: not found.allowed),
    ),
    Listing(
        "principals.list",
        principals.principals,
        "GET /principals",
        needs=SEE_PRINCIPALS,
        command="principal list",
        columns=("id", "kind", "roles", "name", "disabled_at"),
    ),
    Read(
        "principal.show",
        principals.principal,
        "GET /principals/{principal_id}",
        needs=SEE_KEYS,
        command="principal show",
        shows=shown.principal_text,
    ),
    Change(
        "principal.add",
        principals.add_principal,
        "POST /principals",
        needs=ADMIN_IN_SESSION,
        command="principal add",
        location="/principals/{id}",
        example={"principal_id": "user:amira", "kind": "person", "name": "Amira", "roles": ["reviewer"]},
        shows=shown.principal_added,
        notes=_no_credential,
    ),
    Change(
        "principal.amend",
        principals.amend_principal,
        "POST /principals/{principal_id}/amend",
        needs=ADMIN_IN_SESSION,
        command="principal amend",
        example={"roles": ["auditor", "reviewer"]},
        shows=shown.principal_amended,
    ),
    Change(
        "principal.disable",
        principals.disable_principal,
        "POST /principals/{principal_id}/disable",
        needs=ADMIN_IN_SESSION,
        command="principal disable",
        says="disabled {id}",
    ),
    Change(
        "principal.erase",
        principals.erase_principal,
        "POST /principals/{principal_id}/erase",
        needs=ADMIN_IN_SESSION,
        command="principal erase",
        example={"reason": "asked for by the person"},
        shows=shown.name_erased,
    ),
    Change(
        "principal.password",
        principals.set_password,
        "PUT /principals/{principal_id}/password",
        needs=PERSON_IN_SESSION,
        command="principal password",
        example={"password": "correct horse battery staple"},
        shows=shown.password_set,
    ),
    Change(
        "tier.request",
        tiers.request_tier,
        "POST /principals/{principal_id}/tier",
        needs=ASK_IN_SESSION,
        command="principal tier request",
        location="/tickets/{id}",
        example={"to_tier": 2, "reason": "it has to write its findings"},
        says="{id} {title}",
    ),
    Listing(
        "tiers.list",
        tiers.tier_changes,
        "GET /principals/{principal_id}/tiers",
        needs=SEE_KEYS,
        command="principal tier list",
        columns=("version", "from_tier", "to_tier", "changed_at", "changed_by", "reason"),
    ),
    Listing(
        "keys.list",
        api_keys.keys,
        "GET /keys",
        needs=SEE_KEYS,
        command="principal key list",
        columns=("prefix", "principal_id", "live", "scopes", "issued_at", "expires_at"),
    ),
    Read("key.show", api_keys.key, "GET /keys/{prefix}", needs=SEE_KEYS, command="principal key show"),
    Change(
        "key.issue",
        api_keys.issue_key,
        "POST /keys",
        needs=ADMIN_IN_SESSION,
        command="principal key issue",
        location="/keys/{prefix}",
        example={"principal_id": "service:sensor", "scopes": ["truth:write"], "expires_at": "2027-01-01T00:00:00Z"},
        says="{api_key}",
        notes=_key_notes,
    ),
    Change(
        "key.rotate",
        api_keys.rotate_key,
        "POST /keys/{prefix}/rotate",
        needs=ADMIN_IN_SESSION,
        command="principal key rotate",
        location="/keys/{prefix}",
        example={"overlap_seconds": 3600},
        says="{api_key}",
        notes=_key_notes,
    ),
    Change(
        "key.revoke",
        api_keys.revoke_key,
        "POST /keys/{prefix}/revoke",
        needs=ADMIN_IN_SESSION,
        command="principal key revoke",
        example={"reason": "its holder left"},
        says="revoked {prefix}",
    ),
    Change(
        "public_key.add",
        api_keys.add_public_key,
        "POST /principals/{principal_id}/public-keys",
        needs=ADMIN_IN_SESSION,
        command="principal key add-public",
        example={"public_key": "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"},
        says="{key_id}",
        notes=_waits,
    ),
    Change(
        "public_key.end",
        api_keys.end_public_key,
        "POST /public-keys/{key_id}/end",
        needs=ADMIN_IN_SESSION,
        command="principal key end-public",
        example={"reason": "its holder left"},
        says="ended {key_id}",
    ),
)
