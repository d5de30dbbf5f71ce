"""`assay truth observe`, `fingerprint`, `vote` and `window`: what people and machines hand in."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, BinaryIO

import click

from assay.flows.tools import Tools
from assay.flows.truth.attach_fingerprint import attach_fingerprint
from assay.flows.truth.cast_vote import cast_vote
from assay.flows.truth.change_window import change_window
from assay.flows.truth.observe import observe as record
from assay.flows.truth.observe_many import ObservedLine, ObservedMany, observe_many
from assay.kernel.digest import parse_digest
from assay.kernel.instant import Instant
from assay.surfaces.cli.acting import (
    INSTANT,
    SPAN,
    credential_option,
    read_credential,
    read_session,
    session_option,
    within,
)
from assay.surfaces.cli.output import Call, NodeCommand
from assay.surfaces.cli.reviewer_key import key_options, load_signer
from assay.surfaces.cli.text_file import read_bytes
from assay.surfaces.cli.truth_text import recount_text, recount_warning
from assay.truth.contract import VoteType
from assay.truth.status import FINAL_STATUSES, TruthStatus
from assay.truth.window import WindowEventKind

_HONEST_NO = 1
_LARGEST = 1024 * 1024
_LARGEST_EVIDENCE = 256 * 1024 * 1024
_EVENTS = {
    "open": WindowEventKind.OPENED,
    "extend": WindowEventKind.EXTENDED,
    "close": WindowEventKind.CLOSED,
    "abort": WindowEventKind.ABORTED,
}


@click.command(cls=NodeCommand)
@click.argument("file", type=click.File("rb"), metavar="FILE|-")
@click.option("--ndjson", is_flag=True, help="One observation in each line; each has its own answer, in order.")
@click.option(
    "--evidence",
    nargs=2,
    multiple=True,
    metavar="URI FILE",
    help="The content of a piece of evidence, refused unless it is what the observation names. May be repeated.",
)
@credential_option
@click.pass_context
def observe(
    context: click.Context,
    file: BinaryIO,
    evidence: tuple[tuple[str, str], ...],
    credential: str | None,
    *,
    ndjson: bool,
) -> None:
    """Record the observation in FILE, as its reporter or as a relay; the same again is answered with what is there.

    With --ndjson a line that is refused costs no other anything, and the exit code is then 1.
    """
    call: Call = context.obj
    token = read_credential(credential)
    if ndjson and evidence:
        raise click.UsageError("expected --evidence with a single observation, got --ndjson")
    with call.open_node(writable=True) as (tools, _):
        if ndjson:
            many = _observe_lines(call, tools, file, token)
            call.say(f"{many.recorded} recorded, {many.repeated} were there, {many.refused} refused")
            context.exit(_HONEST_NO if many.refused else 0)
        contents = {uri: read_bytes(Path(name), largest=_LARGEST_EVIDENCE) for uri, name in evidence}
        done = record(
            tools,
            file.read(_LARGEST + 1),
            credential=within(tools, token, "truth:write"),
            at=tools.clock.now(),
            contents=contents,
        )
    words = "recorded" if done.is_new else "was recorded before"
    call.answer(done, f"{words}: entry {done.sequence_number}, {done.truthkey}")


@click.command(cls=NodeCommand)
@click.argument("observation", metavar="HASH")
@click.argument("file", type=click.File("rb"), metavar="FILE|-")
@credential_option
@click.pass_obj
def fingerprint(call: Call, observation: str, file: BinaryIO, credential: str | None) -> None:
    """Put the fingerprint in FILE beside the observation with that HASH, as an operator or a relay.

    FILE says `{"sha256": …, "method": "phash", "bits": …}` of a piece of its evidence: 64 bits in hex that look alike
    where two pictures do. Or `{"sha256": …, "other": …, "method": "embedding", "model": …, "similarity": …}`: how
    alike a model finds two pieces, the lower hash first. What a contract makes of it follows when the key is compiled.
    """
    token = read_credential(credential)
    with call.open_node(writable=True) as (tools, _):
        done = attach_fingerprint(
            tools,
            observation,
            file.read(_LARGEST + 1),
            credential=within(tools, token, "truth:write"),
            at=tools.clock.now(),
        )
    words = "recorded" if done.is_new else "was recorded before"
    call.answer(done, f"{words}: entry {done.sequence_number}, {done.truthkey}")


def _observe_lines(call: Call, tools: Tools, file: BinaryIO, token: str) -> ObservedMany:
    size = _size(file)
    with call.progress("observing") as progress:
        lines = _counted(file, progress, size)
        return observe_many(
            tools,
            lines,
            credential=within(tools, token, "truth:write"),
            now=tools.clock.now,
            report=lambda one: _told(call, one),
        )


def _told(call: Call, one: ObservedLine) -> None:
    if one.observed is None:
        call.answer_one_of_many(one, f"{one.line:>8}  refused: {one.problem} [{one.code}]")
    else:
        seen = one.observed
        call.answer_one_of_many(one, f"{one.line:>8}  entry {seen.sequence_number}, {seen.truthkey}")


def _size(file: BinaryIO) -> int | None:
    """For the bar; a pipe has none."""
    try:
        return Path(file.name).stat().st_size
    except (OSError, TypeError, AttributeError):
        return None


def _counted(file: BinaryIO, progress: Any, size: int | None) -> Iterator[bytes]:  # noqa: ANN401  whatever moves a bar
    done = 0
    for line in file:
        done += len(line)
        progress(done, size)
        yield line


@click.command(cls=NodeCommand)
@click.argument("truthkey", metavar="KEY")
@click.argument("choice", type=click.Choice([one.value.lower() for one in VoteType], case_sensitive=False))
@click.option("--seen", required=True, metavar="HASH", help="The hash of what you were shown (`assay review show`).")
@click.option("--reason", default="", help="Why; recorded with the vote.")
@click.option(
    "--status",
    type=click.Choice([one.value for one in TruthStatus if one in FINAL_STATUSES]),
    help="What an override sets.",
)
@key_options
@session_option
@click.pass_obj
def vote(
    call: Call,
    /,
    *,
    truthkey: str,
    choice: str,
    seen: str,
    reason: str,
    status: str | None,
    key_file: Path | None,
    key_passphrase: str | None,
    session: str | None,
) -> None:
    """Vote on the claim at KEY: an answer to its open ticket, counted at once.

    The ticket is in `assay review list`; `assay review show` prints the claim and the hash for --seen.
    """
    token, shown = read_session(session), parse_digest(seen)
    signer = load_signer(key_file, key_passphrase)
    with call.open_node(writable=True) as (tools, _):
        done = cast_vote(
            tools,
            truthkey,
            VoteType(choice.upper()),
            seen=shown,
            reason=reason,
            override_status=None if status is None else TruthStatus(status),
            signing=signer,
            credential=token,
            at=tools.clock.now(),
        )
    said = done.answered.answer
    call.answer(done, f"{said.by} voted `{said.choice}`\n{recount_text(truthkey, done.compiled)}")
    if done.compiled is None:
        call.warn(recount_warning(done.code, done.problem))


@click.command(cls=NodeCommand)
@click.argument("truthkey", metavar="KEY")
@click.argument("event", type=click.Choice([*_EVENTS]))
@click.option("--until", type=INSTANT, metavar="TIME", help="When an opened or extended window closes.")
@click.option("--for", "span", type=SPAN, metavar="SPAN", help="The same from now on, such as 6h.")
@click.option("--reason", default="", help="Why; recorded with the event.")
@credential_option
@click.pass_obj
def window(
    call: Call,
    /,
    *,
    truthkey: str,
    event: str,
    until: Instant | None,
    span: timedelta | None,
    reason: str,
    credential: str | None,
) -> None:
    """Open, extend, close or abort the window in which votes on KEY count; a signed event, and KEY is compiled.

    As an operator, or a reviewer where the contract leaves the decision to peers.
    """
    if until is not None and span is not None:
        raise click.UsageError("expected --until or --for, got both")
    token = read_credential(credential)
    with call.open_node(writable=True) as (tools, _):
        at = tools.clock.now()
        closes_at = until if span is None else Instant(at + span)
        done = change_window(
            tools,
            truthkey,
            _EVENTS[event],
            closes_at=closes_at,
            reason=reason,
            credential=within(tools, token, "truth:write"),
            at=at,
        )
    call.answer(done, f"{done.event.kind}, entry {done.sequence_number}\n{recount_text(truthkey, done.compiled)}")
    if done.compiled is None:
        call.warn(recount_warning(done.code, done.problem, "event"))
