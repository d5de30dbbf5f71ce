"""`assay doctor`: look at everything, in an order in which a failure does not hide what comes after it."""

import shutil
import stat
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay import __version__
from assay.kernel.errors import Error
from assay.surfaces.cli.output import Call, NodeCommand, problems_of

if TYPE_CHECKING:
    from assay.config import Config
    from assay.flows.ledger.examine_node import Examined
    from assay.flows.tools import Tools

_LITTLE, _TOO_LITTLE = 1024**3, 64 * 1024**2
_OTHERS = 0o077


@click.command(cls=NodeCommand)
@click.pass_context
def doctor(context: click.Context) -> None:
    """Examine the node: configuration, keys, weights, database, checkpoints, clock, disk, packages.

    Each line is ok, a warning or a failure, with what to do. Works beside a running server, and also when the
    node cannot be opened at all. Exit 1 when anything failed.
    """
    from assay.flows.ledger.examine_node import State

    call: Call = context.obj
    found = tuple(_examine(call.home))
    if call.as_json:
        call.answer({"home": str(call.home), "findings": found}, "")
    else:
        _print_table(call, found)
        call.say(_summary(found))
    if any(one.state is State.FAILED for one in found):
        context.exit(1)


def _summary(found: "tuple[Examined, ...]") -> str:
    states = [str(one.state) for one in found]
    failed, warned = states.count("failed"), states.count("warning")
    return f"{failed or 'nothing'} failed, {warned or 'no'} warning{'' if warned == 1 else 's'}"


def _examine(home: Path) -> "Iterator[Examined]":
    from assay.flows.ledger.examine_node import failed, fine
    from assay.wiring import load_config

    yield fine("program", f"assay {__version__} on Python {sys.version.split()[0]}")
    try:
        config = load_config(home)
    except Error as error:
        found = "\n".join(f"{one.field}: {one.message}" for one in problems_of(error)) or str(error)
        yield failed(
            "configuration",
            f"{found} [{error.code}]",
            "mend assay.toml or the variable, or name the folder with --home",
        )
        return
    yield fine("configuration", f"{config.node.origin}, tenant {config.node.tenant}")
    yield _examine_folder(home)
    yield _examine_disk(home)
    yield from _examine_packages(config)
    yield from _examine_tpm(config)
    yield from _examine_key_files(home, config)
    yield _examine_writer(home, config)
    yield from _examine_open(home)


def _examine_folder(home: Path) -> "Examined":
    from assay.flows.ledger.examine_node import fine, warning

    mode = stat.S_IMODE(home.stat().st_mode)
    if mode & _OTHERS:
        return warning("folder", f"mode {mode:04o}: others may look into it", f"run `chmod 700 {home}`")
    return fine("folder", f"{home}, mode {mode:04o}")


def _examine_disk(home: Path) -> "Examined":
    from assay.flows.ledger.examine_node import failed, fine, warning

    free = shutil.disk_usage(home).free
    words, advice = f"{free / 1024**3:.1f} GiB free", "make room: a full disk stops the writer"
    if free < _TOO_LITTLE:
        return failed("disk", words, advice)
    return warning("disk", words, advice) if free < _LITTLE else fine("disk", words)


def _examine_packages(config: "Config") -> "Iterator[Examined]":
    from assay.flows.ledger.examine_node import failed, fine

    on_token = any(str(place).startswith("pkcs11:") for place in (config.keys.ledger, config.keys.review))
    needed = {
        "postgres": ("psycopg", not config.database.url.startswith("sqlite:")),
        "pkcs11": ("pkcs11", on_token),
    }
    for extra, (module, is_needed) in needed.items():
        if find_spec(module) is not None:
            yield fine(f"extra {extra}", "installed")
        elif is_needed:
            yield failed(f"extra {extra}", "not installed, but assay.toml needs it", f"install `assay[{extra}]`")
        else:
            yield fine(f"extra {extra}", "not installed, not needed")


def _examine_tpm(config: "Config") -> "Iterator[Examined]":
    """Only whether it could be asked: what it holds is for `assay sovereignty quote`."""
    from assay.flows.ledger.examine_node import failed, fine

    if config.ski.tpm is None:
        return
    if shutil.which("tpm2_quote") is None:
        yield failed("tpm", "assay.toml names one, and tpm2-tools are not installed", "install tpm2-tools")
    else:
        yield fine("tpm", f"{config.ski.tpm}, register {config.ski.tpm_register}")


def _examine_key_files(home: Path, config: "Config") -> "Iterator[Examined]":
    from assay.flows.ledger.examine_node import failed, fine
    from assay.wiring import open_keys

    with open_keys(home, config) as keys:
        for name, place in config.keys.places().items():
            try:
                signer = keys.load(place)
            except Error as error:
                advice = "put the key back; its public half cannot sign"
                yield failed(f"{name} key file", f"{error} [{error.code}]", advice)
            else:
                yield fine(f"{name} key file", f"{place}, {signer.key_id}")


def _examine_writer(home: Path, config: "Config") -> "Examined":
    from assay.adapters.writer_lock import find_lock_holder
    from assay.flows.ledger.examine_node import fine

    url = config.database.url
    if not url.startswith("sqlite:"):
        return fine("writer", "the server knows: look for `assay writer` in pg_stat_activity")
    holder = find_lock_holder(home / url.removeprefix("sqlite:"))
    return fine("writer", "nobody is writing" if holder is None else f"process {holder} holds the writer's place")


def _examine_open(home: Path) -> "Iterator[Examined]":
    from assay.flows.ledger.examine_node import examine_node, failed
    from assay.wiring import open_node

    try:
        with open_node(home, writable=False) as (tools, config):
            found = (*_examine_weights(home, config, tools), *examine_node(tools, at=tools.clock.now()))
    except Error as error:
        yield failed("database", f"{error} [{error.code}]", "the node cannot be opened; mend what failed above first")
        return
    yield from found


def _examine_weights(home: Path, config: "Config", tools: "Tools") -> "Iterator[Examined]":
    """Whether the bytes that would judge are those that this node was founded with, or that people put into use."""
    from assay.config.ski import ReasonerName
    from assay.flows.ledger.examine_node import failed, fine, warning
    from assay.wiring import load_judge_weights

    if config.ski.reasoner is not ReasonerName.JUDGE:
        return
    try:
        found = load_judge_weights(home, config, tools)
    except Error as error:
        advice = "put the true file back, or put these into use with `assay model activate`"
        yield failed("weights", f"{error} [{error.code}]", advice)
        return
    if config.node.judge is None:
        yield warning("weights", f"{found}, not pinned", f'write `judge = "{found}"` under `[node]` of assay.toml')
    else:
        yield fine("weights", f"{found}")


def _print_table(call: Call, found: "tuple[Examined, ...]") -> None:
    from rich.table import Table

    colours = {"ok": "green", "warning": "yellow", "failed": "red"}
    table = Table(box=None, pad_edge=False)
    for heading in ("WHAT", "STATE", "FOUND"):
        table.add_column(heading, overflow="fold")
    for one in found:
        words = one.message if one.advice is None else f"{one.message}\n→ {one.advice}"
        table.add_row(one.name, f"[{colours[one.state]}]{one.state}[/]", words.replace("[", r"\["))
    console = call.console()
    with console.capture() as drawn:
        console.print(table)
    # Cells are filled up with blanks, which nobody wants at the end of a line in a file.
    click.echo("\n".join(line.rstrip() for line in drawn.get().splitlines()))
