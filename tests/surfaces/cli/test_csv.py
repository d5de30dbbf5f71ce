"""`--csv` beside `--json` on every command that lists."""

import csv
import inspect
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import click
import pytest

import assay
from assay.kernel.instant import render_instant
from assay.node import Node
from assay.operations.kinds import Listing
from assay.operations.table import TABLE
from assay.permits.mandate import ArgumentLimit
from assay.surfaces.cli.main import cli
from assay.surfaces.cli.output import ListCommand
from tests.flows._people import quick_passwords
from tests.node._home import Home, copied, report
from tests.surfaces.cli.running import ask


def _commands(group: click.Group, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from _commands(command, (*above, name))
        else:
            yield (*above, name), command


_EVERY = dict(_commands(cli))
_LISTS = {names: one for names, one in _EVERY.items() if isinstance(one, ListCommand)}


def _lists(command: click.Command) -> bool:
    callback = inspect.unwrap(command.callback) if command.callback is not None else None
    return command.name == "list" or (callback is not None and "answer_table" in inspect.getsource(callback))


# Commands that follow from the table say so in their declaration.
_DERIVED = {tuple(one.command.split()) for one in TABLE if isinstance(one, Listing) and one.command is not None}
# It prints a line for each, and a summary of all.
_DERIVED -= {("replay",)}


def test_every_command_that_lists_has_csv_and_no_other() -> None:
    """By its name, by its declaration, or since it prints a table of what it found."""
    known = {names for names, one in _EVERY.items() if _lists(one)} | _DERIVED
    assert known == set(_LISTS)
    assert len(_LISTS) > 25


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("assay.wiring.Argon2Passwords", quick_passwords)
        found = copied(Path(tmp_path_factory.mktemp("listed")))
        with assay.open(found.folder) as node:
            seen = node.acting(found.keys["gateway"]).observe(report("user:ada"))
            node.compile_state(seen.truthkey)
            mandate = _signed_mandate(node, found)
        yield replace(found, keys={**found.keys, "truthkey": seen.truthkey, "mandate": mandate})


def _signed_mandate(node: Node, home: Home) -> str:
    made = node.acting(home.keys["planner"]).propose_mandate(
        agent="ai:planner",
        tool="purge",
        audience="ai:planner",
        tier="DELETE",
        purpose="old records",
        count=5,
        expires_at=render_instant(node.tools.clock.now() + timedelta(hours=1)),
        limits=[ArgumentLimit(argument="id", minimum="1", maximum="100")],
    )
    signer = node.acting(home.keys["otto"])
    signer.answer_ticket(made.ticket_id, choice="sign", seen=made.shown_hash, reason="few and old")
    return str(made.mandate_id)


# What must be named to list it; `truthkey` is that of the observation in the folder, `mandate` that of the agent.
_ARGUMENTS = {
    ("principal", "key", "list"): ["user:olga"],
    ("principal", "tier", "list"): ["user:olga"],
    ("ledger", "search"): ["kind=note"],
    ("truth", "history"): ["{truthkey}"],
    ("mandate", "uses"): ["{mandate}"],
    ("service", "keys"): None,
    ("webhook", "dead"): None,
    ("rules", "session"): None,
    ("review", "timeline"): None,
    ("graph", "reviews"): None,
}
# Of a person, in their own session.
_SESSIONS = {("review", "view", "list"), ("review", "progress")}


@pytest.mark.parametrize("names", [one for one in _LISTS if _ARGUMENTS.get(one, []) is not None], ids=" ".join)
def test_its_rows_are_those_of_json(home: Home, names: tuple[str, ...]) -> None:
    session = ["--session", home.keys["rita"]] if names in _SESSIONS else []
    named = [one.format_map(home.keys) for one in _ARGUMENTS.get(names) or []]
    arguments = ["--home", str(home.folder), *names, *named, *session]
    told, listed = ask(*arguments, "--csv"), ask(*arguments, "--json")
    assert (told.code, listed.code) == (0, 0), told.out + told.err
    rows = list(csv.DictReader(io.StringIO(told.out, newline="")))
    value = json.loads(listed.out)
    if isinstance(value, list):
        assert len(rows) == len(value)
    for row in rows:
        assert None not in row
        assert None not in row.values()


def test_one_of_both_is_asked_for(home: Home) -> None:
    answer = ask("--home", home.folder, "principal", "list", "--csv", "--json")
    assert answer.code == 2
