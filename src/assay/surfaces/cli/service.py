"""`assay service`: what a service says of itself, whose key vouches for it, and who can do what."""

from pathlib import Path

import click
from msgspec import Struct

from assay.operations.registry import OPERATIONS
from assay.surfaces.cli.derive import add_operations
from assay.surfaces.cli.output import Call, Command, Group
from assay.surfaces.cli.text_file import read_bytes

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


add_operations(service, "service", OPERATIONS)
