"""`assay key`: the node's own keys, their succession, and whom the operator trusts."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from assay.surfaces.cli.keys import read_anchors, read_key_text
from assay.surfaces.cli.output import Call, Group

if TYPE_CHECKING:
    from assay.config import Config
    from assay.flows.tools import Tools
    from assay.kernel.ids import KeyId
    from assay.kernel.key import KeyRecord

__all__ = ["key"]


class _ListedKey(Struct, frozen=True, kw_only=True):
    key_id: str
    purpose: str
    valid_from: datetime
    valid_until: datetime | None
    replaces: str | None
    in_use: bool
    verifier_key: str | None


@click.group(cls=Group)
def key() -> None:
    """The node's own keys and the operator's trust anchors."""


@key.command("list")
@click.pass_obj
def _list_keys(call: Call) -> None:
    """List the node's keys: what each may sign, from when until when, and which are in use.

    The verifier key of the ledger key is what you give to whoever shall verify your proofs.
    """
    from assay.flows.own_keys import own_key_ring

    with call.open_node() as (tools, config):
        ring = own_key_ring(tools)
        in_use = {tools.ledger_signer.key_id, tools.review_signer.key_id, tools.transcript_signer.key_id}
        records = sorted((one for known in ring.records.values() for one in known), key=lambda one: one.valid_from)
        rows = [_listed(tools, config, record, in_use=record.key_id in in_use) for record in records]
    call.answer(rows, "\n".join(map(_line, rows)))


@key.command("rotate")
@click.argument("purpose", metavar="PURPOSE", type=click.Choice(["ledger", "review", "transcript"]))
@click.option(
    "--overlap",
    type=click.FloatRange(min=0),
    default=30,
    show_default=True,
    metavar="DAYS",
    help="How long the old key stays valid.",
)
@click.pass_obj
def _rotate(call: Call, purpose: str, overlap: float) -> None:
    """Replace the key for PURPOSE (ledger, review or transcript) by a new one.

    The new key file is made beside the old one. The old key vouches for the new one, both facts are recorded
    in the ledger, and assay.toml is pointed to the new file. Keep the old file until its validity has ended.
    """
    from assay.adapters.node_folder import replace_file
    from assay.adapters.toml_text import set_toml_value
    from assay.flows.rotate_key import rotate_key
    from assay.kernel.key import KeyPurpose
    from assay.wiring import CONFIG_FILE, create_signer

    with call.open_node(writable=True) as (tools, config):
        old_place: str = getattr(config.keys, purpose)
        if old_place.startswith("pkcs11:"):
            raise click.UsageError(f"the {purpose} key is on a token: make its successor there")
        place = _next_place(call.home, old_place)
        path = call.home / CONFIG_FILE
        # Before anything is recorded: a configuration that cannot be edited must not leave a half-done rotation.
        edited = set_toml_value(path.read_text(encoding="utf-8"), "keys", purpose, place)
        new = create_signer(call.home / place)
        endorsement, retirement = rotate_key(
            tools,
            call.tenant_of(config, None),
            old=getattr(tools, f"{purpose}_signer"),
            new=new,
            purpose=KeyPurpose(purpose),
            overlap=timedelta(days=overlap),
            at=tools.clock.now(),
        )
        replace_file(path, edited.encode())
        verifier_key = _verifier_key(tools, config, endorsement.record)
    value = {
        "purpose": purpose,
        "key_id": new.key_id,
        "file": place,
        "replaces": retirement.key_id,
        "old_valid_until": retirement.valid_until,
        "verifier_key": verifier_key,
    }
    text = (
        f"{purpose} key is now {new.key_id} in {place}; {retirement.key_id} ends at {retirement.valid_until:%Y-%m-%d}"
    )
    call.answer(value, text)


@key.group("trust", cls=Group)
def _trust() -> None:
    """Whom this node trusts: the anchors in assay.toml."""


@_trust.command("add")
@click.argument("given", metavar="KEY")
@click.pass_obj
def _add(call: Call, given: str) -> None:
    """Trust KEY: a file, a verifier key, PEM, hex, or a sha256: key id.

    The node's own first key is added as well when no anchor leads to it, since a node whose anchors do not
    lead to its own keys cannot verify its own ledger.
    """
    from assay.adapters.node_folder import replace_file
    from assay.adapters.toml_text import set_toml_value
    from assay.wiring import CONFIG_FILE

    given_ids = read_anchors([given]).all_key_ids
    with call.open_node() as (tools, config):
        own = [key_id for key_id in _own_anchor(tools) if key_id not in given_ids]
    anchors = [*config.trust.anchors, *own, _one_line(read_key_text(given))]
    unique = list(dict.fromkeys(anchors))
    path = call.home / CONFIG_FILE
    replace_file(path, set_toml_value(path.read_text(encoding="utf-8"), "trust", "anchors", unique).encode())
    call.answer({"anchors": unique}, "\n".join(unique))


@_trust.command("list")
@click.pass_obj
def _list_anchors(call: Call) -> None:
    """List the trust anchors of assay.toml; none means that only the node's own first key is believed."""
    from assay.wiring import load_config

    anchors = load_config(call.home).trust.anchors
    call.answer({"anchors": anchors}, "\n".join(anchors))


def _own_anchor(tools: "Tools") -> "list[KeyId]":
    """The founding key, unless an anchor already leads to the key that is in use."""
    from assay.flows.own_keys import own_key_ring

    if tools.anchors.all_key_ids and tools.ledger_signer.key_id in own_key_ring(tools).records:
        return []
    endorsements = tools.database.read(lambda unit: unit.keys.endorsements())
    return [fact.endorsed_by for fact in endorsements[:1]]


def _one_line(text: str) -> str:
    """PEM goes over several lines; hex says the same in one."""
    from assay.kernel.key import parse_public_key

    return parse_public_key(text).hex() if "\n" in text else text


def _next_place(home: Path, old: str) -> str:
    """`keys/ledger.key` is followed by `keys/ledger-2.key`, that by `keys/ledger-3.key`."""
    base, suffix = Path(old).with_suffix(""), Path(old).suffix
    stem = base.name.rpartition("-")[0] if base.name.rpartition("-")[2].isdigit() else base.name
    number = 2
    while (home / (place := base.with_name(f"{stem}-{number}{suffix}"))).exists():
        number += 1
    return str(place)


def _verifier_key(tools: "Tools", config: "Config", record: "KeyRecord") -> str | None:
    from assay.kernel.checkpoint import log_key
    from assay.kernel.ids import parse_tenant_id
    from assay.kernel.key import KeyPurpose
    from assay.kernel.note import render_verifier_key

    if record.purpose is not KeyPurpose.LEDGER or record.raw_public_key is None:
        return None
    return render_verifier_key(log_key(tools.origin_of(parse_tenant_id(config.node.tenant)), record.raw_public_key))


def _listed(tools: "Tools", config: "Config", record: "KeyRecord", *, in_use: bool) -> _ListedKey:
    return _ListedKey(
        key_id=record.key_id,
        purpose=record.purpose,
        valid_from=record.valid_from,
        valid_until=record.valid_until,
        replaces=record.replaces,
        in_use=in_use,
        verifier_key=_verifier_key(tools, config, record),
    )


def _line(row: _ListedKey) -> str:
    from assay.kernel.instant import render_instant

    end = "no end" if row.valid_until is None else render_instant(row.valid_until)
    start = render_instant(row.valid_from)
    words = f"{row.purpose:<11} {row.key_id}  {start} to {end}{'  in use' if row.in_use else ''}"
    return f"{words}\n            {row.verifier_key}" if row.verifier_key else words
