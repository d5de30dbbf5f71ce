"""`assay key`: the node's own keys, their succession, and whom the operator trusts."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from assay.operations.node import OPERATIONS
from assay.surfaces.cli.acting import SPAN
from assay.surfaces.cli.derive import add_operations
from assay.surfaces.cli.keys import read_anchors, read_key_text
from assay.surfaces.cli.output import Call, Group, ListCommand

if TYPE_CHECKING:
    from assay.adapters.key_places import KeyPlaces
    from assay.config import Config
    from assay.flows.tools import Tools
    from assay.kernel.ids import KeyId, TenantId
    from assay.kernel.key import KeyPurpose, KeyRecord
    from assay.ports.signer import Signer


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


@key.command("list", cls=ListCommand)
@click.pass_obj
def _list_keys(call: Call) -> None:
    """List the node's keys: what each may sign, from when until when, and which are in use.

    The verifier key of the ledger key is what you give to whoever shall verify your proofs.
    """
    from assay.adapters.absent_key import AbsentKey
    from assay.flows.ledger.own_keys import own_key_ring, own_signers

    with call.open_node() as (tools, config):
        ring = own_key_ring(tools)
        # Of keys that are not in the folder nothing is known but what the ledger says.
        in_use = {signer.key_id for _, signer in own_signers(tools) if not isinstance(signer, AbsentKey)}
        records = sorted((one for known in ring.records.values() for one in known), key=lambda one: one.valid_from)
        rows = [_listed(tools, config, record, in_use=record.key_id in in_use) for record in records]
    call.answer(rows, "\n".join(map(_line, rows)))


@key.command("rotate")
@click.argument("purpose", metavar="PURPOSE", type=click.Choice(["ledger", "review", "transcript", "truth"]))
@click.option(
    "--overlap",
    type=SPAN,
    default="30d",
    show_default=True,
    metavar="SPAN",
    help="How long the old key stays valid, such as 12h or 30d.",
)
@click.pass_obj
def _rotate(call: Call, purpose: str, overlap: timedelta) -> None:
    """Replace the key for PURPOSE (ledger, review, transcript or truth) by a new one.

    The new key is made beside the old one, in a file or on the token. The old key vouches for the new one, both
    facts are recorded in the ledger, and assay.toml is pointed to the new key. Keep the old one until its validity
    has ended. A rotation that was cut short after it was recorded is finished: no second successor is made.
    A node that was founded without a truth key gets its first one.
    """
    from assay.adapters.node_folder import replace_file
    from assay.adapters.toml_text import set_toml_value
    from assay.flows.truth.truth_key import introduce_truth_key
    from assay.kernel.key import KeyPurpose
    from assay.wiring import CONFIG_FILE, load_config, open_keys, open_node

    with (
        open_keys(call.home, load_config(call.home)) as keys,
        open_node(call.home, writable=True, keys=keys) as (tools, config),
    ):
        old_place = config.keys.places().get(purpose)
        if old_place is None:
            _add_first(call, tools, config, keys)
            return
        if purpose == "truth":
            # The old key vouches for the new one, so it must be on record itself.
            introduce_truth_key(tools, call.tenant_of(config, None), at=tools.clock.now())
        recorded = _recorded_successor(tools, keys, old_place, KeyPurpose(purpose))
        place = recorded or keys.next_place(old_place)
        path = call.home / CONFIG_FILE
        # Before anything is recorded: a configuration that cannot be edited must not leave a half-done rotation.
        edited = set_toml_value(path.read_text(encoding="utf-8"), "keys", purpose, place)
        if recorded is None:
            tenant_id = call.tenant_of(config, None)
            _record_successor(tools, tenant_id, keys.create(place), KeyPurpose(purpose), overlap)
        # After recording: until here the old key is in use, and a crash leaves a node that says where the new one is.
        replace_file(path, edited.encode())
        value = _rotated(tools, config, keys.load(place).key_id, KeyPurpose(purpose), place)
    end = value["old_valid_until"]
    call.answer(value, f"{purpose} key is now {value['key_id']} in {place}; {value['replaces']} ends at {end:%Y-%m-%d}")


def _add_first(call: Call, tools: "Tools", config: "Config", keys: "KeyPlaces") -> None:
    """The truth key of a node that has none; made again where an earlier attempt was cut short before assay.toml."""
    from assay.adapters.node_folder import replace_file
    from assay.adapters.toml_text import set_toml_value
    from assay.flows.truth.truth_key import introduce_truth_key
    from assay.wiring import CONFIG_FILE

    place = keys.free_place(config.keys.ledger, "truth")
    path = call.home / CONFIG_FILE
    edited = set_toml_value(path.read_text(encoding="utf-8"), "keys", "truth", place)
    signer = keys.create(place)
    introduce_truth_key(replace(tools, truth_signer=signer), call.tenant_of(config, None), at=tools.clock.now())
    replace_file(path, edited.encode())
    value = {"purpose": "truth", "key_id": signer.key_id, "file": place, "replaces": None, "old_valid_until": None}
    call.answer(value, f"truth key is {signer.key_id} in {place}")


def _recorded_successor(tools: "Tools", keys: "KeyPlaces", old_place: str, purpose: "KeyPurpose") -> str | None:
    """Where the successor is that an earlier, unfinished rotation recorded, if there is one and its key is there."""
    from assay.flows.ledger.own_keys import find_successor, own_key_ring

    old: Signer = getattr(tools, f"{purpose}_signer")
    successor = find_successor(own_key_ring(tools), old.key_id, purpose)
    return None if successor is None else keys.find_place(old_place, successor.key_id)


def _record_successor(
    tools: "Tools", tenant_id: "TenantId", new: "Signer", purpose: "KeyPurpose", overlap: timedelta
) -> None:
    from assay.flows.ledger.rotate_key import rotate_key

    old: Signer = getattr(tools, f"{purpose}_signer")
    rotate_key(tools, tenant_id, old=old, new=new, purpose=purpose, overlap=overlap, at=tools.clock.now())


def _rotated(tools: "Tools", config: "Config", key_id: "KeyId", purpose: "KeyPurpose", place: str) -> dict[str, Any]:
    """What is now recorded of the two keys."""
    from assay.flows.ledger.own_keys import own_key_ring

    records = own_key_ring(tools).records
    new = next(record for record in records[key_id] if record.purpose is purpose)
    old: Signer = getattr(tools, f"{purpose}_signer")
    return {
        "purpose": purpose,
        "key_id": key_id,
        "file": place,
        "replaces": new.replaces,
        "old_valid_until": next(record.valid_until for record in records[old.key_id] if record.purpose is purpose),
        "verifier_key": _verifier_key(tools, config, new),
    }


@key.command("end")
@click.argument("key_id", metavar="KEY_ID")
@click.option("--reason", required=True, metavar="TEXT", help="Why; it is recorded in the ledger.")
@click.pass_obj
def _end(call: Call, key_id: str, reason: str) -> None:
    """End a replaced key of the node now, before its overlap is over: nothing signed with it later is valid.

    What it signed before stays valid. A key in use is replaced first (`assay key rotate`). The ledger key in use signs
    its end; an ended key ends none of its successors.
    """
    from assay.flows.ledger.rotate_key import end_key
    from assay.kernel.ids import parse_key_id

    with call.open_node(writable=True) as (tools, config):
        tenant_id, at = call.tenant_of(config, None), tools.clock.now()
        ended = end_key(tools, tenant_id, parse_key_id(key_id), reason=reason, at=at)
    call.answer(ended, f"ended {ended.key_id}")


@key.group("trust", cls=Group)
def _trust() -> None:
    """Whom this node trusts: the anchors in assay.toml."""


@_trust.command("add")
@click.argument("given", metavar="KEY")
@click.pass_obj
def _add(call: Call, given: str) -> None:
    """Trust KEY for the documents of others: a file, a verifier key, PEM, hex, or a sha256: key id.

    The node's own ledger is verified from its own first key (`node.founder` in assay.toml), whomever you trust.
    """
    from assay.adapters.node_folder import replace_file
    from assay.adapters.toml_text import set_toml_value
    from assay.wiring import CONFIG_FILE, load_config

    read_anchors([given])
    anchors = [*load_config(call.home).trust.anchors, _one_line(read_key_text(given))]
    unique = list(dict.fromkeys(anchors))
    path = call.home / CONFIG_FILE
    replace_file(path, set_toml_value(path.read_text(encoding="utf-8"), "trust", "anchors", unique).encode())
    call.answer({"anchors": unique}, "\n".join(unique))


add_operations(_trust, "key trust", OPERATIONS)


def _one_line(text: str) -> str:
    """PEM goes over several lines; hex says the same in one."""
    from assay.kernel.key import parse_public_key

    return parse_public_key(text).hex() if "\n" in text else text


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
