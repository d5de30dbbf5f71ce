"""`assay truth replay`, `prove` and `verify`: whether a state is what its inputs make of it, and who says so."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click
import msgspec
from msgspec.structs import asdict

from assay.flows.errors.ledger import NoCheckpointError
from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.flows.truth.check_bronze import check_tables
from assay.flows.truth.check_truth import CheckedState, check_state, check_truth
from assay.flows.truth.prove_truth import prove_truth
from assay.flows.truth.replay_export import replay_bundle, replay_export
from assay.flows.truth.replay_state import ReplayFinding
from assay.flows.truth.replay_truth import replay_truth
from assay.kernel.bundle import Bundle, parse_bundle, render_bundle
from assay.kernel.check_bundle import Finding, Outcome, UntrustedSignerError, check_bundle
from assay.kernel.errors import Blame
from assay.kernel.key import UnknownKeyError, trusted_keys
from assay.surfaces.cli.keys import pinned_origin, read_anchors, trust_option
from assay.surfaces.cli.output import EXIT_CODES, Call, NodeCommand, tenant_option
from assay.surfaces.cli.sink import write_output
from assay.truth.state import parse_truth_state

if TYPE_CHECKING:
    from assay.kernel.key import TrustAnchors

_NO, _REFUSED = EXIT_CODES[Blame.ANSWER], EXIT_CODES[Blame.INPUT]
_LARGEST = 64 * 1024 * 1024
_HASH_LENGTH = 64
# Of all that can be wrong, these say only that the verifier was not told whom to trust.
_MERELY_UNTRUSTED = frozenset({UnknownKeyError.code, UntrustedSignerError.code})


class _Named(msgspec.Struct, frozen=True):
    """A state as it is asked for: by its hash, or by a key and one of its versions."""

    state_hash: str | None
    truthkey: str | None
    version: int | None

    @classmethod
    def of(cls, text: str, version: int | None) -> "_Named":
        is_hash = len(text) == _HASH_LENGTH and ":" not in text
        if is_hash and version is not None:
            raise click.UsageError("expected --version with a key, got a hash")
        return cls(text if is_hash else None, None if is_hash else text, version)


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
@tenant_option
@click.pass_context
def replay(
    context: click.Context,
    named: str | None,
    version: int | None,
    export: BinaryIO | None,
    trust: tuple[str, ...],
    tenant: str | None,
    *,
    skip_trust: bool,
) -> None:
    """Compile a state again from the ledger's entries alone, and compare every byte; then the tables beside them.

    Trust is folded again from every signal of the ledger, and nothing that speaks at the key may have been left out.

    Exit 1 if this node's state does not hold; with --export exit 3, since that is somebody's file.
    """
    call: Call = context.obj
    if export is not None:
        found = replay_export(export, read_anchors(trust), truthkey=named, skip_trust=skip_trust)
        _answer_replay(context, found, failed=_REFUSED if found else _NO)
        return
    if named is None:
        raise click.UsageError("expected KEY or HASH, or --export")
    which = _Named.of(named, version)
    with call.open_node() as (tools, config):
        finding = replay_truth(tools, call.tenant_of(config, tenant), **asdict(which), skip_trust=skip_trust)
    _answer_replay(context, [finding], failed=_NO)


def _answer_replay(context: click.Context, found: list[ReplayFinding], *, failed: int) -> None:
    call: Call = context.obj
    lines = [line for one in found for line in _replay_lines(one)]
    call.answer([_with_holds(one) for one in found], "\n".join(lines) or "no state to replay")
    if not found or not all(one.holds for one in found):
        context.exit(failed)


def _replay_lines(one: ReplayFinding) -> list[str]:
    words = "holds" if one.holds else "DOES NOT HOLD"
    told = "" if one.is_complete is not None else ", not whether any was left out"
    told += "" if one.is_trust_refolded is not None else ", trust not folded again"
    head = f"{one.truthkey} version {one.version}, entry {one.sequence_number}: {words}, {one.records} records{told}"
    return [head, *(f"  {problem.message} [{problem.code}]" for problem in one.problems)]


@click.command(cls=NodeCommand)
@click.argument("named", metavar="KEY|HASH")
@click.option("--version", type=click.IntRange(min=1), metavar="N", help="Which state of KEY; else the latest.")
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Else standard output.")
@click.option("--no-checkpoint", is_flag=True, help="Do not sign a checkpoint when none covers the state yet.")
@tenant_option
@click.pass_obj
def prove(
    call: Call, named: str, version: int | None, output: Path | None, tenant: str | None, *, no_checkpoint: bool
) -> None:
    """Make the proof bundle of a state: its entry, path and checkpoint, and every entry it was compiled from.

    `assay verify` and `assay truth verify` compile it again from that file.
    """
    bundle = _bundle(call, _Named.of(named, version), tenant, may_sign=not no_checkpoint)
    content = render_bundle(bundle)
    if output is None:
        click.echo(content, nl=False)
        return
    write_output(output, content)
    told = {"output": str(output), "entry_hash": bundle.entry_hash, "attachments": len(bundle.attachments)}
    call.answer(told, f"wrote {output}: the state and {len(bundle.attachments)} entries it was compiled from")


def _bundle(call: Call, which: _Named, tenant: str | None, *, may_sign: bool) -> Bundle:
    """Reading first, which also works beside a server; only a missing checkpoint needs the writer's place."""
    with call.open_node() as (tools, config):
        tenant_id = call.tenant_of(config, tenant)
        try:
            return prove_truth(tools, tenant_id, **asdict(which))
        except NoCheckpointError:
            if not may_sign:
                raise
    with call.open_node(writable=True) as (tools, _):
        sign_checkpoint(tools, tenant_id, at=tools.clock.now())
        return prove_truth(tools, tenant_id, **asdict(which))


@click.command(cls=NodeCommand)
@click.argument("file", type=click.File("rb"), metavar="[FILE|-]", required=False)
@click.option("--node", "whole", is_flag=True, help="This node's tables of truth, row by row against the ledger.")
@trust_option
@tenant_option
@click.pass_context
def verify(
    context: click.Context, file: BinaryIO | None, trust: tuple[str, ...], tenant: str | None, *, whole: bool
) -> None:
    """Verify a signed state, or the bundle of `assay truth prove`, which is also compiled again; or, with --node, that
    the tables which truth is compiled from hold what the ledger holds, no more and no less.

    With --trust offline, against those keys alone; a state without --trust against this node's keys and ledger.
    Exit 0: it holds. Exit 1: it fits together, but no key you trust leads to the signer. Exit 3: it was changed,
    forged or damaged.
    """
    call: Call = context.obj
    if whole is (file is not None):
        raise click.UsageError("expected FILE or --node")
    if file is None:
        _verify_node(context, tenant)
        return
    content = file.read(_LARGEST + 1)
    if _is_bundle(content):
        _verify_bundle(context, parse_bundle(content), trust)
        return
    if trust:
        checked = check_state(parse_truth_state(content), trusted_keys(read_anchors(trust), ()))
    else:
        with call.open_node() as (tools, config):
            checked = check_truth(tools, call.tenant_of(config, tenant), content)
    codes = [check.code for check in checked.checks if check.holds is False]
    _end(context, _with_holds(checked), _state_text(checked), codes, holds=checked.holds)


def _verify_node(context: click.Context, tenant: str | None) -> None:
    call: Call = context.obj
    with call.open_node() as (tools, config):
        finding = check_tables(tools, call.tenant_of(config, tenant))
    lines = [f"{problem.message} [{problem.code}]" for problem in finding.problems]
    words = (
        f"the tables of truth, entries {finding.first} to {finding.last}: {'hold' if finding.holds else 'DO NOT HOLD'}"
    )
    call.answer({"holds": finding.holds, **asdict(finding)}, "\n".join([*lines, words]))
    if not finding.holds:
        context.exit(_NO)


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
    told = {"holds": proof.holds and again.holds, "proof": proof, "replay": _with_holds(again)}
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


def _with_holds(finding: CheckedState | ReplayFinding) -> dict[str, Any]:
    return {"holds": finding.holds, **asdict(finding)}


def _state_text(checked: CheckedState) -> str:
    marks = {True: "ok", False: "FAILED", None: "-"}
    lines = [
        f"{marks[check.holds]:<7} {check.name:<14} {check.message}{f' [{check.code}]' if check.code else ''}".rstrip()
        for check in checked.checks
    ]
    unproven = [f"NOT PROVEN by this state alone: {one}" for one in checked.not_proven]
    return "\n".join([f"{checked.truthkey} {checked.status}", *lines, *unproven])


def _bundle_text(proof: Finding, again: ReplayFinding) -> str:
    marks = {Outcome.OK: "ok", Outcome.FAILED: "FAILED"}
    lines = [
        f"{marks.get(check.outcome, '-'):<7} {check.name:<21} {check.message}{f' [{check.code}]' if check.code else ''}"
        for check in proof.checks
    ]
    return "\n".join([*lines, *_replay_lines(again)])
