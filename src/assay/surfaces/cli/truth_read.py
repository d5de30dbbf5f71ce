"""`assay truth show`, `history` and `map`: reading works beside a running server."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from assay.flows.truth.map_truth import map_features
from assay.flows.truth.show_truth import show_history, show_truth
from assay.kernel.instant import Instant, render_instant
from assay.surfaces.cli.acting import INSTANT, columns
from assay.surfaces.cli.output import Call, NodeCommand, tenant_option
from assay.surfaces.cli.sink import open_file_sink
from assay.surfaces.cli.truth_text import shown_text, state_line
from assay.truth.state import render_truth_state

_KNOWN = "What was known then, such as 2026-01-07T12:30:00Z; else what is known now."


@click.command(cls=NodeCommand)
@click.argument("truthkey", metavar="KEY")
@click.option("--at", "known_at", type=INSTANT, metavar="TIME", help=_KNOWN)
@click.option(
    "--state", "alone", is_flag=True, help="Print the signed state alone, as canonical JSON without line feed."
)
@tenant_option
@click.pass_obj
def show(call: Call, truthkey: str, known_at: Instant | None, tenant: str | None, *, alone: bool) -> None:
    """Show the latest state of KEY, how its confidence came about, and what age has left of it.

    Nothing is verified by showing it; `assay truth verify` and `assay truth replay` do that.
    """
    with call.open_node() as (tools, config):
        at = tools.clock.now()
        shown = show_truth(tools, call.tenant_of(config, tenant), truthkey, at=at, known_at=known_at)
    if alone:
        click.echo(render_truth_state(shown.state), nl=False)
    else:
        call.answer(shown, shown_text(shown))


@click.command(cls=NodeCommand)
@click.argument("truthkey", metavar="KEY")
@click.option("--at", "known_at", type=INSTANT, metavar="TIME", help="Only what was known then; else all of it.")
@tenant_option
@click.pass_obj
def history(call: Call, truthkey: str, known_at: Instant | None, tenant: str | None) -> None:
    """Every state of KEY, oldest first; none was ever edited."""
    with call.open_node() as (tools, config):
        found = show_history(tools, call.tenant_of(config, tenant), truthkey, at=tools.clock.now())
    told = [one for one in found if known_at is None or one.compiled_at <= known_at]
    rows = [(f"v{one.version}", render_instant(one.compiled_at), state_line(one.state)) for one in told]
    call.answer(told, columns(list(rows)) or "nothing is known of this key")


@click.command(cls=NodeCommand, name="map")
@click.option(
    "--geojson",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    metavar="FILE|-",
    help="Write a GeoJSON FeatureCollection (RFC 7946) into this new file; else one line for each key.",
)
@click.option("--claim-type", metavar="ID", help="Only keys whose latest state is of this claim type.")
@click.option("--at", "known_at", type=INSTANT, metavar="TIME", help=_KNOWN)
@tenant_option
@click.pass_obj
def map_(
    call: Call, geojson: Path | None, claim_type: str | None, known_at: Instant | None, tenant: str | None
) -> None:
    """The latest state of every key; without --geojson and with --json, one feature a line."""
    with call.open_node() as (tools, config):
        tenant_id, at = call.tenant_of(config, tenant), tools.clock.now()
        if geojson is None:
            map_features(
                tools,
                tenant_id,
                lambda one: call.answer_one_of_many(one, _line(one)),
                at=at,
                claim_type=claim_type,
                known_at=known_at,
            )
            return
        with open_file_sink(geojson) as put:
            put("", b'{"type":"FeatureCollection","features":[')
            wrote = _Features(put)
            count = map_features(tools, tenant_id, wrote.put, at=at, claim_type=claim_type, known_at=known_at)
            put("", b"\n]}\n")
    words = f"{count} feature{'' if count == 1 else 's'}"
    if str(geojson) == "-":
        call.say(words)
    else:
        call.answer({"output": str(geojson), "features": count}, f"wrote {geojson}: {words}")


class _Features:
    """One feature on each line, with the commas between them: a map may be larger than memory."""

    def __init__(self, put: Callable[[str, bytes], None]) -> None:
        self._put = put
        self._before = "\n"

    def put(self, feature: Mapping[str, Any]) -> None:
        self._put("", (self._before + json.dumps(feature, ensure_ascii=False, separators=(",", ":"))).encode())
        self._before = ",\n"


def _line(feature: Mapping[str, Any]) -> str:
    facts = feature["properties"]
    notes = "".join([" expired" if facts["is_expired"] else "", " stale" if facts["is_stale"] else ""])
    return f"{feature['id']}  {facts['status']}  {facts['confidence_now']}{notes}"
