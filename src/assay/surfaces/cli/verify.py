"""`assay verify`: what an auditor runs, with nothing but the proof and a key."""

from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from assay.surfaces.cli.keys import pinned_origin, read_anchors, read_witnesses, trust_option
from assay.surfaces.cli.output import Call, Command

if TYPE_CHECKING:
    from assay.kernel.check_bundle import Finding
    from assay.kernel.digest import Digest
    from assay.ports.reasoner import ScoringReasoner

_UNTRUSTED, _REFUSED = 1, 3
# A report of a long period carries every entry.
_LARGEST = 512 * 1024 * 1024


@click.command(cls=Command)
@click.argument("proof", type=click.File("rb"), metavar="PROOF|-")
@trust_option
@click.option(
    "--witness", "witnesses", multiple=True, metavar="VKEY", help="A witness's verifier key; may be repeated."
)
@click.option(
    "--threshold",
    type=click.IntRange(min=0),
    metavar="N",
    help="How many witnesses must have cosigned; else all that are given.",
)
@click.option("--origin", metavar="NAME", help="The log's name; else the one in the verifier keys given, else any.")
@click.option(
    "--entry",
    type=click.File("rb"),
    metavar="FILE",
    help="The entry's exact text, for a tlog-proof or a receipt, which have none.",
)
@click.option(
    "--weights",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="The weights that a verdict's receipt is read again with; else those that come with the package.",
)
@click.pass_context
def verify(
    context: click.Context,
    proof: IO[bytes],
    trust: tuple[str, ...],
    witnesses: tuple[str, ...],
    threshold: int | None,
    origin: str | None,
    entry: IO[bytes] | None,
    weights: Path | None,
) -> None:
    """Verify a proof offline: no database, no network, no node.

    It may be a bundle, a tlog-proof text, an in-toto statement in a DSSE envelope, a COSE receipt or a statement
    that carries one, or an audit report as JSON; the file itself says which. The receipt in a verdict's bundle is read
    again by the model, if its weights are at hand.

    Exit 0: it holds. Exit 1: everything fits together, but no key you trust (--trust) leads to the signer.
    Exit 3: it was changed, forged or damaged; each check says what it found.
    """
    call: Call = context.obj
    options = _Options(trust, witnesses, threshold, origin or pinned_origin(trust), entry, weights)
    finding = options.check(proof.read(_LARGEST))
    call.answer(finding, _text(finding))
    if not finding.holds:
        code = _UNTRUSTED if _is_merely_untrusted(finding) else _REFUSED
        call.say(_words(finding, code, has_keys=bool(trust)))
        context.exit(code)
    call.say("holds")


class _Options:
    """What to verify against."""

    def __init__(
        self,
        trust: tuple[str, ...],
        witnesses: tuple[str, ...],
        threshold: int | None,
        origin: str | None,
        entry: IO[bytes] | None,
        weights: Path | None,
    ) -> None:
        self.anchors = read_anchors(trust)
        self.witnesses = read_witnesses(witnesses)
        # Whoever names a witness wants its word, unless they say how many are enough.
        self.threshold = len(self.witnesses) if threshold is None else threshold
        self.origin = origin
        self.entry = entry
        self.weights = weights

    def check(self, content: bytes) -> "Finding":
        from assay.flows.ledger.check_proof import check_proof

        return check_proof(
            content,
            self.anchors,
            witnesses=self.witnesses,
            threshold=self.threshold,
            origin=self.origin,
            entry=None if self.entry is None else self.entry.read(_LARGEST),
            find_scorer=self.find_scorer,
        )

    def find_scorer(self, wanted: "Digest") -> "ScoringReasoner | None":
        """The weights that were given, whatever they are; else the shipped ones, if they are those."""
        from assay.wiring import open_scorer

        scorer = open_scorer(self.weights)
        return scorer if self.weights is not None or scorer.identify().model_weight_hash == wanted else None


def _is_merely_untrusted(finding: "Finding") -> bool:
    from assay.kernel.check_bundle import Outcome, UntrustedSignerError

    failures = {check.code for check in finding.checks if check.outcome is Outcome.FAILED}
    return failures == {UntrustedSignerError.code}


def _text(finding: "Finding") -> str:
    marks = {"ok": "ok", "failed": "FAILED", "not_checked": "-"}
    lines = [
        f"{marks[check.outcome]:<7} {check.name:<21} {check.message}{f' [{check.code}]' if check.code else ''}"
        for check in finding.checks
    ]
    return "\n".join(lines)


def _words(finding: "Finding", code: int, *, has_keys: bool) -> str:
    if code == _UNTRUSTED:
        if not has_keys:
            return "not trusted: nothing was changed; give the operator's public key, as you got it, with --trust"
        return "not trusted: nothing was changed, but no key given with --trust leads to the signer"
    return f"refused: this proves nothing [{finding.code}]"
