"""`assay principal key`: API keys, each shown once, and public keys that requests are signed with."""

from datetime import timedelta

import click
from msgspec import Struct

from assay.flows.identity.inspect_principal import ApiKeyView, inspect_principal
from assay.flows.identity.issue_api_key import issue_api_key
from assay.flows.identity.register_signing_key import end_signing_key, register_signing_key
from assay.flows.identity.revoke_api_key import revoke_api_key
from assay.flows.identity.rotate_api_key import rotate_api_key
from assay.identity.credential import EVERY_SCOPE, ApiKeyPrefix, ApiKeyRecord, parse_api_key_prefix
from assay.kernel.ids import PrincipalId, parse_key_id, parse_principal_id
from assay.kernel.instant import Instant, render_instant
from assay.kernel.key import parse_public_key
from assay.surfaces.cli.acting import SPAN, acting_admin, session_option
from assay.surfaces.cli.output import Call, Group, ListCommand, tenant_option

__all__ = [
    "IssuedKey",
    "add_public",
    "end_public",
    "issue",
    "key",
    "key_row",
    "list_",
    "revoke",
    "rotate",
]


class IssuedKey(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `issue` and `rotate` print; the key is shown here and never again."""

    api_key: str
    prefix: ApiKeyPrefix
    principal_id: PrincipalId
    scopes: tuple[str, ...]
    issued_at: Instant
    expires_at: Instant | None


@click.group(cls=Group)
def key() -> None:
    """API keys: issue, list, rotate, revoke; and public keys for signed requests."""


@key.command()
@click.argument("principal_id", metavar="ID")
@click.option("--scope", "scopes", multiple=True, metavar="SCOPE", help="What the key may do; all if none is given.")
@click.option("--expires-in", type=SPAN, help="The end of the key, such as 90d from now; none if not given.")
@tenant_option
@session_option
@click.pass_obj
def issue(
    call: Call,
    principal_id: str,
    scopes: tuple[str, ...],
    expires_in: timedelta | None,
    tenant: str | None,
    session: str | None,
) -> None:
    """Issue an API key to a principal and print it, once."""
    known_id = parse_principal_id(principal_id)
    with call.open_node(writable=True) as (tools, config):
        at, tenant_id = tools.clock.now(), call.tenant_of(config, tenant)
        text, record = issue_api_key(
            tools,
            tenant_id,
            known_id,
            scopes=scopes or (EVERY_SCOPE,),
            expires_at=None if expires_in is None else Instant(at + expires_in),
            by=acting_admin(tools, tenant_id, session, at=at),
            at=at,
        )
    _show_once(call, text, record)


@key.command(name="list", cls=ListCommand)
@click.argument("principal_id", metavar="ID")
@tenant_option
@click.pass_obj
def list_(call: Call, principal_id: str, tenant: str | None) -> None:
    """List a principal's API keys, the ended ones too."""
    known_id = parse_principal_id(principal_id)
    with call.open_node() as (tools, config):
        view = inspect_principal(tools, call.tenant_of(config, tenant), known_id, at=tools.clock.now())
    rows = [key_row(one) for one in view.api_keys]
    heads = ("PREFIX", "STATE", "SCOPES", "ISSUED", "ENDS")
    call.answer_table(view.api_keys, heads, rows, nothing="no key was issued")


@key.command()
@click.argument("prefix")
@click.option("--overlap", type=SPAN, default="24h", show_default=True, help="How long the old key still works.")
@tenant_option
@session_option
@click.pass_obj
def rotate(call: Call, prefix: str, overlap: timedelta, tenant: str | None, session: str | None) -> None:
    """Issue the successor of a key and print it, once; the old key ends after the overlap."""
    known_prefix = parse_api_key_prefix(prefix)
    with call.open_node(writable=True) as (tools, config):
        at, tenant_id = tools.clock.now(), call.tenant_of(config, tenant)
        by = acting_admin(tools, tenant_id, session, at=at)
        text, record = rotate_api_key(tools, tenant_id, known_prefix, overlap=overlap, by=by, at=at)
    _show_once(call, text, record)


@key.command()
@click.argument("prefix")
@click.option("--reason", required=True, help="Why; it is recorded.")
@tenant_option
@session_option
@click.pass_obj
def revoke(call: Call, prefix: str, reason: str, tenant: str | None, session: str | None) -> None:
    """End a key now."""
    known_prefix = parse_api_key_prefix(prefix)
    with call.open_node(writable=True) as (tools, config):
        at, tenant_id = tools.clock.now(), call.tenant_of(config, tenant)
        by = acting_admin(tools, tenant_id, session, at=at)
        revocation = revoke_api_key(tools, tenant_id, known_prefix, reason=reason, by=by, at=at)
    call.answer(revocation, f"revoked {revocation.prefix}")


@key.command(name="add-public")
@click.argument("principal_id", metavar="ID")
@click.argument("public_key", metavar="KEY")
@click.option("--scope", "scopes", multiple=True, metavar="SCOPE", help="What the key may do; all if none is given.")
@click.option("--expires-in", type=SPAN, help="The end of the key, such as 90d from now; none if not given.")
@tenant_option
@session_option
@click.pass_obj
def add_public(
    call: Call,
    principal_id: str,
    public_key: str,
    scopes: tuple[str, ...],
    expires_in: timedelta | None,
    tenant: str | None,
    session: str | None,
) -> None:
    """Register the Ed25519 public key that a principal signs its requests with.

    KEY is the public key as PEM, hex or base64; the private one stays where it is.
    """
    known_id, raw = parse_principal_id(principal_id), parse_public_key(public_key)
    with call.open_node(writable=True) as (tools, config):
        at, tenant_id = tools.clock.now(), call.tenant_of(config, tenant)
        record = register_signing_key(
            tools,
            tenant_id,
            known_id,
            raw,
            scopes=scopes or (EVERY_SCOPE,),
            expires_at=None if expires_in is None else Instant(at + expires_in),
            by=acting_admin(tools, tenant_id, session, at=at),
            at=at,
        )
    call.answer(record, record.key_id)


@key.command(name="end-public")
@click.argument("key_id", metavar="KEY_ID")
@click.option("--reason", required=True, help="Why; it is recorded.")
@tenant_option
@session_option
@click.pass_obj
def end_public(call: Call, key_id: str, reason: str, tenant: str | None, session: str | None) -> None:
    """End a public key now: nothing signed with it counts any more."""
    known_key = parse_key_id(key_id)
    with call.open_node(writable=True) as (tools, config):
        at, tenant_id = tools.clock.now(), call.tenant_of(config, tenant)
        by = acting_admin(tools, tenant_id, session, at=at)
        end = end_signing_key(tools, tenant_id, known_key, reason=reason, by=by, at=at)
    call.answer(end, f"ended {end.key_id}")


def key_row(view: ApiKeyView) -> tuple[str, ...]:
    ends = [end for end in (view.revoked_at, view.expires_at) if end is not None]
    return (
        view.prefix,
        "live" if view.live else "ended",
        ",".join(view.scopes),
        render_instant(view.issued_at),
        render_instant(min(ends)) if ends else "-",
    )


def _show_once(call: Call, text: str, record: ApiKeyRecord) -> None:
    call.say(f"the key of {record.principal_id}, shown once:")
    shown = IssuedKey(
        api_key=text,
        prefix=record.prefix,
        principal_id=record.principal_id,
        scopes=record.scopes,
        issued_at=record.issued_at,
        expires_at=record.expires_at,
    )
    call.answer(shown, text)
