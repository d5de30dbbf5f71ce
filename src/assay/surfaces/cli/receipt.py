"""`assay receipt`: what proves that a model's own weights wrote a verdict, and the check that anyone can make."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.operations.verdicts import EXPORT_RECEIPT, VERDICTS_OF
from assay.surfaces.cli.derive import common_options
from assay.surfaces.cli.keys import read_anchors, trust_option
from assay.surfaces.cli.output import Call, Group
from assay.surfaces.cli.perform import perform
from assay.surfaces.cli.text_file import read_bytes

if TYPE_CHECKING:
    from assay.flows.verdicts.receipts import ShownReceipt
    from assay.flows.verdicts.verify_receipt import ReceiptFinding
    from assay.kernel.key import TrustAnchors
    from assay.verdicts.receipt import ReceiptFile

_HONEST_NO, _REFUSED = 1, 3
_LARGEST = 16 * 1024 * 1024
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)

_named = click.argument("named", metavar="RECORD|FILE", required=False)
_entry = click.option("--entry", type=click.IntRange(min=1), metavar="SEQ", help="By an entry of the ledger instead.")
_rule = click.option("--rule", "rule_id", metavar="ID", help="Of this rule, where several judged the record.")


@click.group(cls=Group)
def receipt() -> None:
    """Inference receipts (SKI 7.5): given one and the weights, anyone can check that these weights wrote a verdict."""


@receipt.command("export")
@click.argument("named", metavar="RECORD", required=False)
@_entry
@_rule
@common_options(VERDICTS_OF)
@click.pass_obj
def _export(call: Call, /, named: str | None, entry: int | None, rule_id: str | None, **where: str | None) -> None:
    """Print the receipt of a verdict as a file for a third party: transcript, grammar and the keys that lead to it."""
    click.echo(_of_verdict(call, named, entry, rule_id, where), nl=False)


@receipt.command("show")
@_named
@_entry
@_rule
@common_options(VERDICTS_OF)
@click.pass_obj
def _show(call: Call, /, named: str | None, entry: int | None, rule_id: str | None, **where: str | None) -> None:
    """Show what a receipt says: who was asked what, and every token with its score. Nothing is checked."""
    from assay.flows.verdicts.receipts import show_receipt

    found, _ = _find(call, named, entry, rule_id, where)
    shown = show_receipt(found)
    call.answer(shown, _shown_text(shown))


@receipt.command("verify")
@_named
@_entry
@_rule
@click.option(
    "--weights",
    type=_FILE,
    metavar="FILE",
    help="The weights to check with; else those that the node keeps, or that come with the package.",
)
@trust_option
@common_options(VERDICTS_OF)
@click.pass_context
def _verify(
    context: click.Context,
    /,
    named: str | None,
    entry: int | None,
    rule_id: str | None,
    weights: Path | None,
    trust: tuple[str, ...],
    **where: str | None,
) -> None:
    """Read a verdict's transcript again with the weights, in one forced pass: was every token the model's own choice?

    A FILE is checked offline, without a node. Exit 0: exact, or within the stated tolerance. Exit 1: no receipt was
    offered, REPLAY_DIVERGENCE, or no key you trust (--trust; of a verdict here, the node's own) leads to the signer.
    Exit 3: the receipt was changed, or these are not its weights.
    """
    from assay.flows.verdicts.verify_receipt import check_receipt
    from assay.verdicts.receipt import metadata_of
    from assay.wiring import open_scorer

    call: Call = context.obj
    found, own = _find(call, named, entry, rule_id, where)
    anchors = own if own is not None and not trust else read_anchors(trust)
    scorer = open_scorer(weights, folder=None if own is None else call.home, named=metadata_of(found.transcript)[0])
    finding = check_receipt(found, scorer, anchors)
    call.answer(finding, _finding_text(finding))
    code, words = _verdict_on(finding)
    call.say(words)
    if code:
        context.exit(code)


def _find(
    call: Call, named: str | None, entry: int | None, rule_id: str | None, where: dict[str, str | None]
) -> "tuple[ReceiptFile, TrustAnchors | None]":
    """The receipt, and for a verdict of the folder's node the root of that node's own keys."""
    from assay.kernel.key import TrustAnchors
    from assay.verdicts.receipt import parse_receipt

    if named is not None and entry is None and Path(named).is_file():
        return parse_receipt(read_bytes(Path(named), largest=_LARGEST)), None
    found = parse_receipt(_of_verdict(call, named, entry, rule_id, where))
    if where["node"] is not None:
        return found, None
    with call.open_node() as (tools, _):
        return found, TrustAnchors(key_ids=frozenset({tools.founder}))


def _of_verdict(
    call: Call, named: str | None, entry: int | None, rule_id: str | None, where: dict[str, str | None]
) -> bytes:
    if (named is None) is (entry is None):
        raise click.UsageError("expected the id of a record, or --entry")
    if entry is None:
        verdicts = perform(call, VERDICTS_OF, {"telemetry_id": named or ""}, **where).verdicts
        wanted = [one for one in verdicts if rule_id is None or one.rule_id == rule_id]
        if len(wanted) != 1:
            rules = ", ".join(one.rule_id for one in verdicts)
            raise click.UsageError(f"expected --rule with one of those that judged the record: {rules}")
        entry = wanted[0].sequence_number
    body: bytes = perform(call, EXPORT_RECEIPT, {"sequence": entry}, **where).body
    return body


def _verdict_on(finding: "ReceiptFinding") -> tuple[int, str]:
    from assay.flows.verdicts.verify_receipt import ReceiptResult

    if finding.result is ReceiptResult.REFUSED:
        codes = [check.code for check in finding.checks if check.code and check.step.value != "2 signer"]
        return (
            _REFUSED,
            f"refused: this proves nothing about these weights [{codes[0] if codes else 'receipt.refused'}]",
        )
    if finding.result is ReceiptResult.REPLAY_DIVERGENCE:
        return _HONEST_NO, "REPLAY_DIVERGENCE: these weights do not write this; find out why before relying on it"
    told = "exact" if finding.result is ReceiptResult.EXACT else f"within the tolerance of {finding.tolerance}"
    if not finding.is_trusted:
        return _HONEST_NO, f"{told}, but not trusted: no key given with --trust leads to the signer"
    return 0, f"{told}: the model of these weights wrote this transcript, token by token"


def _finding_text(finding: "ReceiptFinding") -> str:
    marks = {"ok": "ok", "failed": "FAILED", "not_checked": "-"}
    return "\n".join(
        f"{marks[check.outcome]:<7} {check.step:<15} {check.detail}{f' [{check.code}]' if check.code else ''}".rstrip()
        for check in finding.checks
    )


def _shown_text(shown: "ShownReceipt") -> str:
    from assay.kernel.instant import render_instant

    facts = {
        "transcript": shown.transcript_id,
        "model": f"{shown.backend_name} {shown.model_weight_hash}",
        "prompt": f"{shown.prompt_template_id} {shown.prompt_hash}",
        "grammar": shown.grammar_hash,
        "answer": shown.response_hash,
        "root": f"{shown.scheme} {shown.root}, tolerance {shown.tolerance}",
        "signer": f"{shown.signer} at {render_instant(shown.completed_at)}",
    }
    lines = [f"{name:<11} {value}" for name, value in facts.items()]
    lines += [_token_line(one.position, one.word, one.score, one.margin) for one in shown.tokens]
    return "\n".join(lines)


def _token_line(position: int, word: str, score: int | None, margin: int | None) -> str:
    beyond = "the only choice" if margin is None else f"ahead by {margin}"
    return f"{position:>5}  {word:<20} {score if score is not None else '?':>8}  {beyond}"
