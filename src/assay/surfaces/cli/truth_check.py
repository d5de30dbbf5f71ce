"""`assay truth replay` and `verify`: also offline, from files alone."""

from typing import TYPE_CHECKING, Any, BinaryIO

import click
import msgspec
from msgspec.structs import asdict

from assay.flows.truth.check_truth import StateFinding, check_state
from assay.flows.truth.replay_state import ReplayFinding
from assay.flows.truth.replay_truth import replay_bundle, replay_export
from assay.flows.truth.states import StateReplay
from assay.kernel.bundle import Bundle, parse_bundle
from assay.kernel.check_bundle import Finding, Outcome, UntrustedSignerError, check_bundle
from assay.kernel.errors import Blame
from assay.kernel.key import UnknownKeyError, trusted_keys
from assay.operations.shown.truth import finding_text, replay_text
from assay.operations.truth import STATE_REPLAY, STATE_VERIFY
from assay.surfaces.cli.derive import common_options
from assay.surfaces.cli.keys import pinned_origin, read_anchors, trust_option
from assay.surfaces.cli.output import EXIT_CODES, Call, NodeCommand
from assay.surfaces.cli.perform import perform
from assay.truth.state import parse_truth_state

if TYPE_CHECKING:
    from assay.kernel.key import TrustAnchors

_NO, _REFUSED = EXIT_CODES[Blame.ANSWER], EXIT_CODES[Blame.INPUT]
_LARGEST = 64 * 1024 * 1024
# Of all that can be wrong, these say only that the verifier was not told whom to trust.
_MERELY_UNTRUSTED = frozenset({UnknownKeyError.code, UntrustedSignerError.code})


@click.command(cls=NodeCommand)
@click.argument("named", metavar="[KEY|HASH]", required=False)
@click.option("--version", type=click.IntRange(min=1), metavar="N", help="Which state of KEY; else the latest.")
@click.option(
    "--export",
    "export",
    type=click.File("rb"),
    metavar="FILE",
    help="Replay from what `assay ledger export` wrote, without any node; --trust says by whose keys.",
)
@click.option("--skip-trust", is_flag=True, help="Do not fold every signal again to see that trust was right.")
@trust_option
@common_options(STATE_REPLAY)
@click.pass_context
def replay(
    context: click.Context,
    /,
    named: str | None,
    version: int | None,
    export: BinaryIO | None,
    trust: tuple[str, ...],
    *,
    skip_trust: bool,
    **where: str | None,
) -> None:
    """Compile a state again from the ledger's entries alone, and compare every byte; then the tables beside them.

    Trust is folded again from every signal of the ledger, and no entry of the key may have been left out.

    Exit 1 if this node's state does not hold; with --export exit 3, since that is somebody's file.
    """
    call: Call = context.obj
    if export is not None:
        found = replay_export(export, read_anchors(trust), truthkey=named, skip_trust=skip_trust)
        _answer_replay(context, [_replayed(one) for one in found], failed=_REFUSED if found else _NO)
        return
    if named is None:
        raise click.UsageError("expected KEY or HASH, or --export")
    asked: dict[str, Any] = {"key": named, "skip_trust": skip_trust}
    asked |= {} if version is None else {"version": version}
    _answer_replay(context, [perform(call, STATE_REPLAY, asked, **where)], failed=_NO)


def _replayed(found: ReplayFinding) -> StateReplay:
    return StateReplay(holds=found.holds, **asdict(found))


def _answer_replay(context: click.Context, found: list[StateReplay], *, failed: int) -> None:
    call: Call = context.obj
    call.answer(found, "\n".join(map(replay_text, found)) or "no state to replay")
    if not found or not all(one.holds for one in found):
        context.exit(failed)


@click.command(cls=NodeCommand)
@click.argument("file", type=click.File("rb"), metavar="FILE|-")
@trust_option
@common_options(STATE_VERIFY)
@click.pass_context
def verify(context: click.Context, /, file: BinaryIO, trust: tuple[str, ...], **where: str | None) -> None:
    """Verify a signed state, or the bundle of `assay truth prove`, which is also compiled again.

    With --trust offline, against those keys alone; a state without --trust against this node's keys and ledger.
    Exit 0: it holds. Exit 1: it fits together, but no key you trust leads to the signer. Exit 3: it was changed,
    forged or damaged.
    """
    call: Call = context.obj
    content = file.read(_LARGEST + 1)
    if _is_bundle(content):
        _verify_bundle(context, parse_bundle(content), trust)
        return
    if trust:
        checked = check_state(parse_truth_state(content), trusted_keys(read_anchors(trust), ()))
        finding = StateFinding(holds=checked.holds, **asdict(checked))
    else:
        finding = perform(call, STATE_VERIFY, {"state": content}, **where)
    codes = [check.code for check in finding.checks if check.holds is False]
    _end(context, finding, finding_text(finding), codes, holds=finding.holds)


def _is_bundle(content: bytes) -> bool:
    """By its fields; what is neither is refused by the reader of states, which says what it expected."""
    try:
        value = msgspec.json.decode(content)
    except msgspec.MsgspecError:
        return False
    return isinstance(value, dict) and "truthkey" not in value and "entry" in value


def _verify_bundle(context: click.Context, bundle: Bundle, trust: tuple[str, ...]) -> None:
    anchors: TrustAnchors = read_anchors(trust)
    proof = check_bundle(bundle, anchors, origin=pinned_origin(trust))
    again = replay_bundle(bundle, anchors)
    failures = [check.code for check in proof.checks if check.outcome is Outcome.FAILED]
    codes = [*failures, *(problem.code for problem in again.problems)]
    told = {"holds": proof.holds and again.holds, "proof": proof, "replay": _replayed(again)}
    _end(context, told, _bundle_text(proof, again), codes, holds=proof.holds and again.holds)


def _end(context: click.Context, told: object, text: str, codes: "list[str | None]", *, holds: bool) -> None:
    call: Call = context.obj
    call.answer(told, text)
    if holds:
        call.say("holds")
        return
    # Without any code nothing was found wrong: a signature was left unchecked, as its own line says.
    is_untrusted = all(code in _MERELY_UNTRUSTED for code in codes)
    if not codes:
        call.say("not verified: only who holds the shared secret can check this signature")
        context.exit(_NO)
    words = "not trusted: no key given with --trust, or of this node, leads to the signer"
    call.say(words if is_untrusted else "refused: this is not what was signed")
    context.exit(_NO if is_untrusted else _REFUSED)


def _bundle_text(proof: Finding, again: ReplayFinding) -> str:
    marks = {Outcome.OK: "ok", Outcome.FAILED: "FAILED"}
    lines = [
        f"{marks.get(check.outcome, '-'):<7} {check.name:<21} {check.message}{f' [{check.code}]' if check.code else ''}"
        for check in proof.checks
    ]
    return "\n".join([*lines, replay_text(_replayed(again))])
