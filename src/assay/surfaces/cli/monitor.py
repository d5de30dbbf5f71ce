"""`assay monitor`: follow a published tile log, and say when it is not what it was."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.surfaces.cli.keys import pinned_origin, read_anchors, read_witnesses, trust_option
from assay.surfaces.cli.output import Call, Command

if TYPE_CHECKING:
    from assay.flows.ledger.monitor_log import MonitorReport, Trusted
    from assay.ports.object_store import ObjectStore

_REFUSED = 3


@click.command(cls=Command)
@click.argument("place", metavar="FOLDER|URL")
@trust_option
@click.option(
    "--state",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="What was seen so far; made by the first visit. Keep it on a machine of your own.",
)
@click.option("--witness", "witnesses", multiple=True, metavar="VKEY", help="A witness's verifier key; repeatable.")
@click.option("--threshold", type=click.IntRange(min=0), metavar="N", help="How many witnesses must have cosigned.")
@click.option("--origin", metavar="NAME", help="The log's name; else the one in the verifier keys given, else any.")
@click.option("--follow", type=click.FloatRange(min=1), metavar="SECONDS", help="Visit again and again, this often.")
@click.pass_context
def monitor(
    context: click.Context,
    place: str,
    trust: tuple[str, ...],
    state: Path,
    witnesses: tuple[str, ...],
    threshold: int | None,
    origin: str | None,
    follow: float | None,
) -> None:
    """Verify the tile log in FOLDER or at URL (https://…, s3://…) with its files alone: no node, no database.

    The first visit verifies every entry, later ones what is new, and that nothing of what was seen has changed.

    Exit 0: it holds. Exit 3: it was changed, cut or forked; the report names the first bad entry and, of a fork, has
    both signed checkpoints, which prove it. The state stays as it was then.
    """
    from assay.adapters.object_store import open_object_store
    from assay.flows.ledger.monitor_log import Trusted

    call: Call = context.obj
    named = read_witnesses(witnesses)
    trusted = Trusted(
        anchors=read_anchors(trust),
        origin=origin or pinned_origin(trust),
        witnesses=named,
        threshold=len(named) if threshold is None else threshold,
    )
    store = open_object_store(place)
    while True:
        report = _visit(store, trusted, state)
        answer = call.answer if follow is None else call.answer_one_of_many
        answer(report, _text(report))
        if not report.holds:
            context.exit(_REFUSED)
        if follow is None:
            return
        time.sleep(follow)


def _visit(store: "ObjectStore", trusted: "Trusted", state: Path) -> "MonitorReport":
    import msgspec

    from assay.adapters.object_store import FolderObjects
    from assay.flows.ledger.monitor_log import monitor_log, parse_seen

    kept = FolderObjects(state.parent)
    content = kept.read(state.name)
    seen = None if content is None else parse_seen(content)
    report, following = monitor_log(store, trusted, seen)
    if following is not None and following != seen:
        kept.write(state.name, msgspec.json.encode(following))
    return report


def _text(report: "MonitorReport") -> str:
    if report.fault is None:
        cosigned = f", cosigned by {', '.join(report.cosigned_by)}" if report.cosigned_by else ""
        return f"VALID {report.origin}: {report.size} entries, {report.new_entries} of them new{cosigned}"
    fault = report.fault
    lines = [f"INVALID {report.origin}: {fault.code}: {fault.message}"]
    if fault.seen is not None and fault.shown is not None:
        lines += ["", "signed and seen before:", fault.seen.rstrip(), "", "signed and shown now:", fault.shown.rstrip()]
    return "\n".join(lines)
