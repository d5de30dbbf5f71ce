"""`assay principal`: people, agents and services, their keys, and sessions."""

from collections.abc import Callable
from datetime import timedelta

import click
from msgspec import UNSET, Struct

from assay.flows.identity.add_principal import add_principal
from assay.flows.identity.amend_principal import amend_principal
from assay.flows.identity.disable_principal import disable_principal
from assay.flows.identity.erase_principal import erase_principal
from assay.flows.identity.inspect_principal import PrincipalView, inspect_principal, list_principals
from assay.flows.identity.log_in import log_in
from assay.flows.identity.log_out import log_out
from assay.flows.identity.set_password import set_password
from assay.identity.mask import normalise_mask
from assay.identity.principal import Principal, PrincipalChange, PrincipalKind
from assay.identity.risk import RiskTier, parse_risk_tier
from assay.identity.session import DEFAULT_SESSION_LIFETIME, SessionId
from assay.kernel.ids import PrincipalId, parse_principal_id
from assay.kernel.instant import Instant, render_instant
from assay.kernel.key import parse_public_key
from assay.surfaces.cli.acting import (
    SPAN,
    acting_admin,
    columns,
    plain,
    read_password,
    read_session,
    session_option,
)
from assay.surfaces.cli.api_key import key, key_row
from assay.surfaces.cli.output import Call, Group, ListCommand, tenant_option
from assay.surfaces.cli.principal_tier import tier
from assay.surfaces.cli.principal_why import why

__all__ = [
    "LoggedIn",
    "add",
    "amend",
    "disable",
    "erase",
    "list_",
    "login",
    "logout",
    "password",
    "principal",
    "show",
]


class LoggedIn(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `login` prints; the token is shown here and never again."""

    session_token: str
    session_id: SessionId
    principal_id: PrincipalId
    issued_at: Instant
    expires_at: Instant


@click.group(cls=Group)
def principal() -> None:
    """People, agents and services of a tenant, and what proves them.

    Without a session these commands act as `operator:local`: whoever can write to the node's folder holds its keys.
    With one (ASSAY_SESSION or --session) they act as that person, who must hold the role `admin`.
    """


principal.add_command(key)
principal.add_command(tier)
principal.add_command(why)


_GRANTED = (
    click.option("--role", "roles", multiple=True, metavar="ROLE", help="A role; may be given more than once."),
    click.option("--trust-mask", metavar="N", help="32 permission bits, as 5 or 0x5."),
    click.option("--action-tier", type=click.IntRange(0, 3), help="The highest action tier, 0 to 3."),
    click.option("--risk-ceiling", type=click.Choice([tier.value for tier in RiskTier]), help="The highest risk tier."),
    click.option("--level-floor", type=click.IntRange(0, 3), help="The lowest authenticity level to be shown."),
    click.option(
        "--public-key", metavar="KEY", help="The reviewer's Ed25519 key, as PEM, hex or base64; `none` ends it."
    ),
)


def _granted_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options that say what a principal may do, in the order of the list."""
    for option in reversed(_GRANTED):
        command = option(command)
    return command


@principal.command()
@click.argument("principal_id", metavar="ID")
@click.option("--kind", type=click.Choice([kind.value for kind in PrincipalKind]), required=True)
@click.option("--name", required=True, help="What people call it; logged only as a salted commitment.")
@click.option("--password-stdin", is_flag=True, help="Read a person's password from standard input.")
@_granted_options
@tenant_option
@session_option
@click.pass_obj
def add(
    call: Call,
    /,
    principal_id: str,
    kind: str,
    name: str,
    password_stdin: bool,  # noqa: FBT001 - click's own
    tenant: str | None,
    session: str | None,
    **granted: object,
) -> None:
    """Add a principal; it is allowed nothing but what the options grant.

    ID is `prefix:name`, such as user:amira, ai:planner or service:billing.
    """
    known_id = parse_principal_id(principal_id)
    change = _change(granted)
    password = read_password(from_stdin=True) if password_stdin else None
    with call.open_node(writable=True) as (tools, config):
        at, tenant_id = tools.clock.now(), call.tenant_of(config, tenant)
        added = add_principal(
            tools,
            tenant_id,
            known_id,
            kind=PrincipalKind(kind),
            name=name,
            granted=change,
            password=password,
            by=acting_admin(tools, tenant_id, session, at=at),
            at=at,
        )
    call.answer(added, f"added {_line(added)}")


@principal.command(name="list", cls=ListCommand)
@tenant_option
@click.pass_obj
def list_(call: Call, tenant: str | None) -> None:
    """List the principals of a tenant as they are now."""
    with call.open_node() as (tools, config):
        found = list_principals(tools, call.tenant_of(config, tenant))
        at = tools.clock.now()
    rows = [(one.id, one.kind, _state(one, at), ",".join(one.roles) or "-", _name(one)) for one in found]
    call.answer_table(found, ("ID", "KIND", "STATE", "ROLES", "NAME"), rows, nothing="nobody was added")


@principal.command()
@click.argument("principal_id", metavar="ID")
@tenant_option
@click.pass_obj
def show(call: Call, principal_id: str, tenant: str | None) -> None:
    """Show one principal with its keys and every earlier version."""
    known_id = parse_principal_id(principal_id)
    with call.open_node() as (tools, config):
        view = inspect_principal(tools, call.tenant_of(config, tenant), known_id, at=tools.clock.now())
    call.answer(view, _view_text(view))


@principal.command()
@click.argument("principal_id", metavar="ID")
@click.option("--name", help="The new name.")
@click.option("--no-roles", is_flag=True, help="Take every role away; --role sets the roles anew.")
@click.option("--enable", is_flag=True, help="Undo a disabling.")
@_granted_options
@tenant_option
@session_option
@click.pass_obj
def amend(
    call: Call,
    /,
    principal_id: str,
    name: str | None,
    enable: bool,  # noqa: FBT001 - click's own
    tenant: str | None,
    session: str | None,
    **granted: object,
) -> None:
    """Record the next version of a principal; what is not given stays as it is."""
    known_id = parse_principal_id(principal_id)
    change = _change(granted, name=name, enable=enable)
    if change == PrincipalChange():
        raise click.UsageError("expected something to change, got nothing")
    with call.open_node(writable=True) as (tools, config):
        at, tenant_id = tools.clock.now(), call.tenant_of(config, tenant)
        by = acting_admin(tools, tenant_id, session, at=at)
        amended = amend_principal(tools, tenant_id, known_id, change, by=by, at=at)
    call.answer(amended, f"version {amended.version}: {_line(amended)}")


@principal.command()
@click.argument("principal_id", metavar="ID")
@tenant_option
@session_option
@click.pass_obj
def disable(call: Call, principal_id: str, tenant: str | None, session: str | None) -> None:
    """Disable a principal: its keys and sessions are refused from now on."""
    known_id = parse_principal_id(principal_id)
    with call.open_node(writable=True) as (tools, config):
        at, tenant_id = tools.clock.now(), call.tenant_of(config, tenant)
        by = acting_admin(tools, tenant_id, session, at=at)
        disabled = disable_principal(tools, tenant_id, known_id, by=by, at=at)
    call.answer(disabled, f"disabled {disabled.id}")


@principal.command()
@click.argument("principal_id", metavar="ID")
@click.option("--reason", required=True, metavar="TEXT", help="Why; recorded in the ledger.")
@tenant_option
@session_option
@click.pass_obj
def erase(call: Call, principal_id: str, reason: str, tenant: str | None, session: str | None) -> None:
    """Erase a principal's name, of every version; the id and what was done under it stay.

    Erasure entries record who did it and why. Copies in backups and exports are not reached.
    """
    known_id = parse_principal_id(principal_id)
    with call.open_node(writable=True) as (tools, config):
        at, tenant_id = tools.clock.now(), call.tenant_of(config, tenant)
        by = acting_admin(tools, tenant_id, session, at=at)
        erasure = erase_principal(tools, tenant_id, known_id, by=by, reason=reason, at=at)
    numbers = ", ".join(map(str, erasure.sequence_numbers))
    later = "" if erasure.scrubbed else "; the bytes leave the database's files later, as nobody reads them"
    call.answer(erasure, f"erased the name of {known_id} in entries {numbers}{later}")


@principal.command()
@click.argument("principal_id", metavar="ID")
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input.")
@tenant_option
@session_option
@click.pass_obj
def password(
    call: Call,
    principal_id: str,
    password_stdin: bool,  # noqa: FBT001 - click's own
    tenant: str | None,
    session: str | None,
) -> None:
    """Set a person's password; sessions opened before end."""
    known_id = parse_principal_id(principal_id)
    secret = read_password(from_stdin=password_stdin, confirm=True)
    with call.open_node(writable=True) as (tools, config):
        at, tenant_id = tools.clock.now(), call.tenant_of(config, tenant)
        by = acting_admin(tools, tenant_id, session, at=at)
        record = set_password(tools, tenant_id, known_id, secret, by=by, at=at)
    value = {"principal_id": record.principal_id, "set_at": record.set_at, "set_by": record.set_by}
    call.answer(value, f"password of {record.principal_id} set")


@principal.command()
@click.argument("principal_id", metavar="ID")
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input.")
@click.option("--lifetime", type=SPAN, default=None, help="How long the session lives, at most 12h; else 15m.")
@tenant_option
@click.pass_obj
def login(
    call: Call,
    principal_id: str,
    password_stdin: bool,  # noqa: FBT001 - click's own
    lifetime: timedelta | None,
    tenant: str | None,
) -> None:
    """Open a session for a person and print its token, once."""
    known_id = parse_principal_id(principal_id)
    secret = read_password(from_stdin=password_stdin)
    with call.open_node(writable=True) as (tools, config):
        token, record = log_in(
            tools,
            call.tenant_of(config, tenant),
            known_id,
            secret,
            lifetime=lifetime or DEFAULT_SESSION_LIFETIME,
            at=tools.clock.now(),
        )
    call.say(f"session of {record.principal_id} until {render_instant(record.expires_at)}; keep it in ASSAY_SESSION")
    shown = LoggedIn(
        session_token=token,
        session_id=record.id,
        principal_id=record.principal_id,
        issued_at=record.issued_at,
        expires_at=record.expires_at,
    )
    call.answer(shown, token)


@principal.command()
@session_option
@click.pass_obj
def logout(call: Call, session: str | None) -> None:
    """End the session whose token is given."""
    token = read_session(session)
    with call.open_node(writable=True) as (tools, _):
        revocation = log_out(tools, token, at=tools.clock.now())
    call.answer(revocation, f"ended {revocation.session_id}")


def _change(granted: dict[str, object], *, name: str | None = None, enable: bool = False) -> PrincipalChange:
    """What the options say differently; an option left out says nothing."""
    roles, mask, key_text = granted["roles"], granted["trust_mask"], granted["public_key"]
    if roles and granted.get("no_roles"):
        raise click.UsageError("expected --role or --no-roles, got both")
    given = {
        "name": name,
        "roles": roles if roles or granted.get("no_roles") else None,
        "trust_mask": None if mask is None else _mask(str(mask)),
        "action_tier": granted["action_tier"],
        "risk_ceiling": granted["risk_ceiling"] and parse_risk_tier(str(granted["risk_ceiling"])),
        "authenticity_level_floor": granted["level_floor"],
    }
    change = {field: value for field, value in given.items() if value is not None}
    if key_text is not None:
        change["public_key"] = None if key_text == "none" else parse_public_key(str(key_text)).hex()
    return PrincipalChange(**change, disabled_at=None if enable else UNSET)  # type: ignore[arg-type]  # checked on creation


def _mask(text: str) -> int:
    try:
        number = int(text, 0)
    except ValueError as error:
        raise click.UsageError(f"--trust-mask: expected a whole number such as 5 or 0x5, got `{text[:80]}`") from error
    return normalise_mask(number)


def _state(one: Principal, at: Instant) -> str:
    return "active" if one.is_active(at) else "disabled"


def _name(one: Principal) -> str:
    return "(erased)" if one.name is None else plain(one.name)


def _line(one: Principal) -> str:
    return f"{one.id} ({one.kind}, {', '.join(one.roles) or 'no role'})"


def _view_text(view: PrincipalView) -> str:
    one = view.principal
    facts = [
        ("id", one.id),
        ("name", _name(one)),
        ("kind", one.kind.value),
        ("state", "active" if view.active else "disabled"),
        ("roles", ", ".join(one.roles) or "-"),
        ("trust mask", f"{one.trust_mask:#010x}"),
        ("action tier", str(one.action_tier)),
        ("risk ceiling", one.risk_ceiling.value),
        ("level floor", str(one.authenticity_level_floor)),
        ("public key", one.public_key or "-"),
        ("password", "set" if view.has_password else "-"),
    ]
    parts = [columns(list(facts))]
    if view.api_keys:
        parts.append("keys\n" + columns([key_row(one_key) for one_key in view.api_keys]))
    if view.signing_keys:
        rows = [
            (one_key.key_id, "live" if one_key.live else "ended", ",".join(one_key.scopes))
            for one_key in view.signing_keys
        ]
        parts.append("signing keys\n" + columns(list(rows)))
    versions = [
        (f"v{old.version}", render_instant(old.recorded_at), old.recorded_by, _line(old)) for old in view.history
    ]
    return "\n\n".join([*parts, "history\n" + columns(list(versions))])
