"""`assay replay`: recorded verdicts reached again from what is stored, step by step (SKI 8)."""

from collections.abc import Iterator
from contextlib import AbstractContextManager

import click
from msgspec import Struct

from assay.config import Config
from assay.flows.tools import Tools
from assay.flows.verdicts.decide_v2 import V2Replay, replay_v2
from assay.flows.verdicts.replay_verdict import replay_record, replay_verdict, replay_verdicts
from assay.kernel.errors import Blame
from assay.kernel.ids import TenantId
from assay.surfaces.cli.evaluating import open_judging
from assay.surfaces.cli.output import EXIT_CODES, Call, NodeCommand, tenant_option
from assay.surfaces.cli.verdict_text import one_line
from assay.verdicts.replay import Replay, ReplayResult, ReplaySummary, StepFinding, StepResult, summarise_replays

_NO = EXIT_CODES[Blame.ANSWER]
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


class _Range(Struct, frozen=True):
    """Which entries: those of a record, one, or all from here to there."""

    telemetry_id: str | None
    entry: int | None
    first: int
    last: int | None


@click.command(cls=NodeCommand)
@click.argument("telemetry_id", required=False)
@click.option("--entry", type=click.IntRange(min=1), metavar="SEQ", help="The verdict in this entry.")
@click.option("--from", "first", type=click.IntRange(min=1), metavar="SEQ", help="All verdicts from this entry on.")
@click.option("--to", "last", type=click.IntRange(min=1), metavar="SEQ", help="All verdicts up to this entry.")
@click.option("--all", "everything", is_flag=True, help="Every verdict of the ledger.")
@click.option("--without-model", is_flag=True, help="Do not ask the model again; the result is then INCOMPLETE.")
@click.option(
    "--v2", "is_v2", is_flag=True, help="Only entries of runtime 2, by its own procedure: no model, no steps."
)
@tenant_option
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
    tenant: str | None,
) -> None:
    """Reach recorded verdicts again: the graph of that hash, the weights, the prompt, the model's answer, the verifier
    and the governor, the chain. Each of the six steps is reported, whichever diverges first.

    Exit 0 if at least one verdict was wholly replayed and every one matched. Exit 1 for a divergence, for a step that
    could not be checked, and where nothing was checked at all. A divergence is not necessarily tampering: look into it.
    Entries of version 2 are SKIPPED_PRE_V3; --v2 replays those alone.
    """
    call: Call = context.obj
    wanted = _range(telemetry_id, entry, first, last, everything=everything)
    with _opened(call, without_model=without_model or is_v2) as (tools, config):
        tenant_id = call.tenant_of(config, tenant)
        is_clean = _replay_v2(call, tools, tenant_id, wanted) if is_v2 else _replay_v3(call, tools, tenant_id, wanted)
    context.exit(0 if is_clean else _NO)


def _range(
    telemetry_id: str | None, entry: int | None, first: int | None, last: int | None, *, everything: bool
) -> _Range:
    is_range = first is not None or last is not None
    if sum((telemetry_id is not None, entry is not None, is_range, everything)) != 1:
        raise click.UsageError("expected one of TELEMETRY_ID, --entry, --from or --to, --all")
    return _Range(telemetry_id, entry, first or 1, last)


def _opened(call: Call, *, without_model: bool) -> AbstractContextManager[tuple[Tools, Config]]:
    """Reading works beside a running server."""
    return call.open_node() if without_model else open_judging(call, writable=False)


def _replay_v3(call: Call, tools: Tools, tenant_id: TenantId, wanted: _Range) -> bool:
    summary = summarise_replays(_told(call, _replays(tools, tenant_id, wanted)))
    if call.as_json:
        call.answer_one_of_many({"summary": summary}, "")
    else:
        click.echo(_summary_text(summary))
    return summary.is_clean


def _replays(tools: Tools, tenant_id: TenantId, wanted: _Range) -> Iterator[Replay]:
    if wanted.entry is not None:
        return iter([replay_verdict(tools, tenant_id, wanted.entry)])
    if wanted.telemetry_id is None:
        return replay_verdicts(tools, tenant_id, first=wanted.first, last=wanted.last)
    return replay_record(tools, tenant_id, wanted.telemetry_id)


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


def _replay_v2(call: Call, tools: Tools, tenant_id: TenantId, wanted: _Range) -> bool:
    if wanted.telemetry_id is not None:
        raise click.UsageError("expected --entry, --from, --to or --all with --v2")
    first, last = (wanted.first, wanted.last) if wanted.entry is None else (wanted.entry, wanted.entry)
    results: list[bool | None] = []
    for one in replay_v2(tools, tenant_id, first=first, last=last):
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
