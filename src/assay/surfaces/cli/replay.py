"""`assay replay`: recorded verdicts reached again from what is stored, step by step (SKI 8)."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import click
from msgspec import Struct

from assay.flows.verdicts.runtime_v2 import V2Replay
from assay.kernel.errors import Blame
from assay.operations.kinds import Operation
from assay.operations.verdicts import REPLAY, REPLAY_V2
from assay.surfaces.cli.derive import common_options
from assay.surfaces.cli.output import EXIT_CODES, Call, NodeCommand
from assay.surfaces.cli.perform import performing
from assay.surfaces.cli.verdict_text import one_line
from assay.verdicts.replay import Replay, ReplayResult, ReplaySummary, StepFinding, StepResult, summarise_replays

_NO = EXIT_CODES[Blame.ANSWER]
_PAGE = 50
_MARKS = {
    StepResult.MATCH: "ok",
    StepResult.DIVERGED: "DIVERGED",
    StepResult.NOT_CHECKED: "not checked",
    StepResult.NOT_APPLICABLE: "none",
}


class ReplayedV2(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the replay of runtime 2 came to; clean only where something was replayed and all of it matched."""

    matched: int
    diverged: int
    not_checked: int
    is_clean: bool


@click.command(cls=NodeCommand)
@click.argument("telemetry_id", metavar="[RECORD]", required=False)
@click.option("--entry", type=click.IntRange(min=1), metavar="SEQ", help="The verdict in this entry.")
@click.option("--from", "first", type=click.IntRange(min=1), metavar="SEQ", help="All verdicts from this entry on.")
@click.option("--to", "last", type=click.IntRange(min=1), metavar="SEQ", help="All verdicts up to this entry.")
@click.option("--all", "everything", is_flag=True, help="Every verdict of the ledger.")
@click.option("--without-model", is_flag=True, help="Do not ask the model again; the result is then INCOMPLETE.")
@click.option(
    "--v2", "is_v2", is_flag=True, help="Only entries of runtime 2, by its own procedure: no model, no steps."
)
@common_options(REPLAY)
@click.pass_context
def replay(
    context: click.Context,
    /,
    *,
    telemetry_id: str | None,
    entry: int | None,
    first: int | None,
    last: int | None,
    everything: bool,
    without_model: bool,
    is_v2: bool,
    **where: str | None,
) -> None:
    """Reach recorded verdicts again: the graph of that hash, the weights, the prompt, the model's answer, the verifier
    and the governor, the chain. Each of the six steps is reported, whichever diverges first.

    Exit 0 if at least one verdict was wholly replayed and every one matched. Exit 1 for a divergence, for a step that
    could not be checked, and where nothing was checked at all. A divergence is not necessarily tampering: look into it.
    Entries of version 2 are SKIPPED_PRE_V3; --v2 replays those alone.
    """
    call: Call = context.obj
    is_range = first is not None or last is not None
    if sum((telemetry_id is not None, entry is not None, is_range, everything)) != 1:
        raise click.UsageError("expected one of RECORD, --entry, --from or --to, --all")
    wanted = {"telemetry_id": telemetry_id, "entry": entry, "first": first, "last": last}
    asked: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
    if is_v2:
        is_clean = _replay_v2(call, asked, where)
    else:
        is_clean = _replay_v3(call, {**asked, "without_model": without_model}, where)
    context.exit(0 if is_clean else _NO)


def _replay_v3(call: Call, asked: Mapping[str, Any], where: dict[str, str | None]) -> bool:
    # Without the model nothing of it is opened.
    operation = replace(REPLAY, uses=()) if asked["without_model"] else REPLAY
    summary = summarise_replays(_told(call, _walk(call, operation, asked, where)))
    if call.as_json:
        call.answer_one_of_many({"summary": summary}, "")
    else:
        click.echo(_summary_text(summary))
    return summary.is_clean


def _walk(call: Call, operation: Operation, asked: Mapping[str, Any], where: dict[str, str | None]) -> Iterator[Any]:
    """All items of a list, page by page; small pages, so that results are printed while others are reached."""
    with performing(call, (operation,), **where) as perform:
        cursor: str | None = None
        while True:
            given = {**asked, "limit": _PAGE, **({} if cursor is None else {"cursor": cursor})}
            page = perform(operation, given)
            yield from page.items
            cursor = page.next
            if cursor is None:
                return


def _told(call: Call, replays: Iterator[Replay]) -> Iterator[Replay]:
    for one in replays:
        call.answer_one_of_many(one, _line(one))
        yield one


def _line(one: Replay) -> str:
    steps = "" if not one.steps else f": {', '.join(_step(step) for step in one.steps)}"
    return f"entry {one.sequence_number}  {one.result}{steps}"


def _step(one: StepFinding) -> str:
    is_told = one.result in (StepResult.DIVERGED, StepResult.NOT_CHECKED) and one.detail
    return f"{one.step} {_MARKS[one.result]}{f' ({one_line(one.detail)})' if is_told else ''}"


def _summary_text(summary: ReplaySummary) -> str:
    counts = ", ".join(f"{count} {name}" for name, count in summary.counts.items() if count)
    if summary.is_clean:
        return f"reproduced: {counts}"
    if summary.counts[ReplayResult.REPLAY_DIVERGENCE]:
        return f"NOT reproduced: {counts}"
    if summary.counts[ReplayResult.INCOMPLETE]:
        return f"not everything was checked: {counts}"
    return f"nothing was checked: {counts or 'no verdict there'}"


def _replay_v2(call: Call, asked: Mapping[str, Any], where: dict[str, str | None]) -> bool:
    if "telemetry_id" in asked:
        raise click.UsageError("expected --entry, --from, --to or --all with --v2")
    one_entry = asked.get("entry")
    span = dict(asked) if one_entry is None else {"first": one_entry, "last": one_entry}
    results: list[bool | None] = []
    for one in _walk(call, REPLAY_V2, span, where):
        results.append(one.is_match)
        call.answer_one_of_many(one, _v2_line(one))
    total = ReplayedV2(
        matched=results.count(True),
        diverged=results.count(False),
        not_checked=results.count(None),
        is_clean=bool(results) and all(results),
    )
    words = f"{total.matched} matched, {total.diverged} diverged, {total.not_checked} not checked"
    call.answer_one_of_many({"summary": total}, words if results else "nothing was checked: no verdict of runtime 2")
    return total.is_clean


def _v2_line(one: V2Replay) -> str:
    word = {True: "MATCH", False: "REPLAY_DIVERGENCE", None: "INCOMPLETE"}[one.is_match]
    return f"entry {one.sequence_number}  {word}{f': {one_line(one.detail)}' if one.detail else ''}"
