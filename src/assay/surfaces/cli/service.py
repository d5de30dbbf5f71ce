"""`assay service`: what a service says of itself, whose key vouches for it, and who can do what."""

from pathlib import Path

import click
from msgspec import Struct

from assay.surfaces.cli.acting import session_option
from assay.surfaces.cli.output import Call, Command, Group, tenant_option
from assay.surfaces.cli.text_file import read_bytes

__all__ = ["service"]

_HONEST_NO = 1
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


class _Linted(Struct, frozen=True, kw_only=True):
    file: str
    holds: bool
    problems: tuple[object, ...]


@click.group(cls=Group)
def service() -> None:
    """Services: their codex.json, the keys they sign with, and what the registry knows of them."""


@service.command("lint", cls=Command)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=_FILE)
@click.pass_context
def _lint(context: click.Context, files: tuple[Path, ...]) -> None:
    """Tell every problem of each codex.json in FILE with its JSON pointer; exit 1 if there is one."""
    from assay.registry.open_manifest import check_manifest

    call: Call = context.obj
    found = [(path, check_manifest(read_bytes(path))) for path in files]
    lines = [f"{path}{one.pointer or '/'}: {one.message} [{one.code}]" for path, told in found for one in told]
    rows = [_Linted(file=str(path), holds=not told, problems=told) for path, told in found]
    call.answer(rows, "\n".join(lines) or "no problems")
    if lines:
        context.exit(_HONEST_NO)


@service.command("sign", cls=Command)
@click.argument("file", metavar="FILE", type=_FILE)
@click.option("--key", "key_file", metavar="KEYFILE", required=True, type=_FILE, help="The service's own private key.")
@click.pass_obj
def _sign(call: Call, file: Path, key_file: Path) -> None:
    """Print the codex.json in FILE with a signature over the rest of it; the file itself stays as it is."""
    from assay.adapters.keyfile import load_key_file
    from assay.kernel.json_text import parse_json
    from assay.registry.open_manifest import sign_manifest

    signer = load_key_file(key_file)
    signed = sign_manifest(read_bytes(file), key_id=signer.key_id, sign=signer.sign)
    call.answer(parse_json(signed), signed.decode())


@service.command("card", cls=Command)
@click.argument("file", metavar="FILE", type=_FILE)
@click.option("--base-url", metavar="URL", help="Where the service is reached; else `base_url` of codex.json.")
@click.option("--mcp", is_flag=True, help="The MCP server card instead of the A2A agent card.")
@click.pass_obj
def _card(call: Call, file: Path, base_url: str | None, *, mcp: bool) -> None:
    """Print the agent card that follows from the codex.json in FILE."""
    from assay.registry.cards import agent_card, mcp_card
    from assay.registry.open_manifest import open_manifest
    from assay.surfaces.cli.output import json_text

    manifest = open_manifest(read_bytes(file)).manifest
    url = base_url or manifest.base_url
    if url is None:
        raise click.UsageError("expected --base-url, since codex.json names no base_url")
    card = mcp_card(manifest, base_url=url) if mcp else agent_card(manifest, base_url=url)
    call.answer(card, json_text(card))


@service.command("trust")
@click.argument("name", metavar="SERVICE")
@click.argument("public_key", metavar="KEY")
@tenant_option
@session_option
@click.pass_obj
def _trust(call: Call, name: str, public_key: str, tenant: str | None, session: str | None) -> None:
    """Make KEY known for SERVICE: from then on only what it signs is heard in that name.

    KEY is a public key as hex, base64 or PEM, or a file that holds one.
    """
    from assay.flows.registry.register_service import register_service
    from assay.identity.principal import BuiltInRole
    from assay.kernel.key import parse_public_key
    from assay.surfaces.cli.acting import acting_as
    from assay.surfaces.cli.keys import read_key_text

    raw = parse_public_key(read_key_text(public_key))
    with call.open_node(writable=True) as (tools, config):
        tenant_id, at = call.tenant_of(config, tenant), tools.clock.now()
        by = acting_as(BuiltInRole.OPERATOR, tools, tenant_id, session, at=at)
        key = register_service(tools, tenant_id, name, raw, by=by, at=at)
    call.answer(key, f"{key.service_id} {key.key_id}")


@service.command("revoke")
@click.argument("name", metavar="SERVICE")
@click.argument("key_id", metavar="KEY_ID")
@click.option("--reason", metavar="TEXT", required=True, help="Why; it is kept in the ledger.")
@tenant_option
@session_option
@click.pass_obj
def _revoke(call: Call, name: str, key_id: str, reason: str, tenant: str | None, session: str | None) -> None:
    """Revoke a key of SERVICE for ever: nothing that it signs is heard any more, and its leases end.

    KEY_ID is what `assay service keys` shows. A service that goes on needs a new key.
    """
    from assay.flows.registry.revoke_service_key import revoke_service_key
    from assay.identity.principal import BuiltInRole
    from assay.kernel.ids import parse_key_id
    from assay.surfaces.cli.acting import acting_as

    named = parse_key_id(key_id)
    with call.open_node(writable=True) as (tools, config):
        tenant_id, at = call.tenant_of(config, tenant), tools.clock.now()
        by = acting_as(BuiltInRole.OPERATOR, tools, tenant_id, session, at=at)
        end = revoke_service_key(tools, tenant_id, name, named, reason=reason, by=by, at=at)
    call.answer(end, f"revoked {end.key_id} of {end.service_id}")


@service.command("keys")
@click.argument("name", metavar="SERVICE")
@tenant_option
@click.pass_context
def _keys(context: click.Context, name: str, tenant: str | None) -> None:
    """List the keys that were made known for SERVICE; exit 1 if none of them counts."""
    from assay.flows.registry.service_keys import list_service_keys
    from assay.kernel.instant import render_instant
    from assay.surfaces.cli.acting import columns, plain

    call: Call = context.obj
    with call.open_node() as (tools, config):
        found = list_service_keys(tools, call.tenant_of(config, tenant), name)
    rows: list[tuple[str, ...]] = [
        (one.key.key_id, render_instant(one.key.registered_at), "known")
        if one.revoked is None
        else (one.key.key_id, render_instant(one.revoked.revoked_at), f"revoked: {plain(one.revoked.reason)}")
        for one in found
    ]
    call.answer(found, columns(rows))
    if all(one.revoked is not None for one in found):
        context.exit(_HONEST_NO)


@service.command("who-can")
@click.argument("needs", metavar="BITS")
@click.option("--tier", type=click.IntRange(0, 3), default=0, help="At least this tier must be active.")
@tenant_option
@click.pass_context
def _who_can(context: click.Context, needs: str, tier: int, tenant: str | None) -> None:
    """List the services that have all BITS, such as BOOK,MANIFEST; exit 1 if there is none."""
    from assay.flows.registry.watch_service import load_index
    from assay.registry.permission import mask_of

    call: Call = context.obj
    with call.open_node() as (tools, config):
        tenant_id = call.tenant_of(config, tenant)
        index = tools.database.read(lambda unit: load_index(unit.registry, tenant_id))
    found = index.who_can(mask_of(needs.split(",")), tier=tier)
    call.answer(found, "\n".join(found))
    if not found:
        call.say("no service can")
        context.exit(_HONEST_NO)
