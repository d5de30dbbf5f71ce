"""Check a search proof against the keys a verifier trusts: that its entries are in the ledger, and are all there are.

bundle of the newest index -> indexes cover all before it -> each answers every term -> entries are those they name

What remains to be believed is that the operator logged honest indexes; whoever holds the entries can build them again,
and every full audit does.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import msgspec

from assay.kernel.bundle import EntryHead, parse_entry_head
from assay.kernel.check_bundle import Check, CheckName, Finding, Outcome, check_bundle
from assay.kernel.checkpoint import Checkpoint, parse_checkpoint
from assay.kernel.errors import Error, ProofError
from assay.kernel.key import TrustAnchors
from assay.kernel.ledger import EntryKind
from assay.kernel.merkle import leaf_hash, verify_inclusion
from assay.kernel.search_proof import ProvenEntry, SearchProof
from assay.kernel.term import parse_term, terms_of
from assay.kernel.term_index import Seal, common_numbers, verify_answer, verify_seal


class IncompleteSearchError(ProofError):
    """Indexes leave a gap, or the entries shown are not those that the indexes name."""

    code = "search.incomplete"


def check_search(
    proof: SearchProof,
    anchors: TrustAnchors,
    *,
    witnesses: Mapping[str, bytes] | None = None,
    threshold: int = 0,
    origin: str | None = None,
) -> Finding:
    """Try every check; never raises for a proof that shows nothing."""
    found = check_bundle(proof.newest, anchors, witnesses=witnesses, threshold=threshold, origin=origin)
    run = _Run(proof=proof, is_founded=found.holds)
    steps: tuple[tuple[CheckName, Callable[[], str]], ...] = (
        (CheckName.INDEX, run.cover),
        (CheckName.COMPLETENESS, run.complete),
        (CheckName.FOUND, run.find),
    )
    checks = tuple(run.attempt(name, step) for name, step in steps)
    failures = [check.code for check in checks if check.outcome is Outcome.FAILED]
    return msgspec.structs.replace(
        found,
        holds=found.holds and all(check.outcome is Outcome.OK for check in checks),
        code=found.code or (failures[0] if failures else None),
        checks=(*found.checks, *checks),
    )


def read_seal(text: bytes) -> tuple[EntryHead, Seal]:
    """An entry that logs an index, and what it says of it."""
    head = parse_entry_head(text)
    if head.kind != EntryKind.INDEX_SEALED:
        raise IncompleteSearchError(f"expected an `{EntryKind.INDEX_SEALED}` entry, got `{head.kind[:40]}`")
    try:
        seal = msgspec.convert(head.body, Seal)
    except msgspec.ValidationError as error:
        raise IncompleteSearchError(f"expected a seal in entry {head.sequence_number}: {error}") from error
    verify_seal(seal)
    return head, seal


@dataclass(slots=True, kw_only=True)
class _Run:
    """One pass over a proof; `seals` and `numbers` are there once the steps that find them have held."""

    proof: SearchProof
    is_founded: bool
    seals: tuple[Seal, ...] = ()
    numbers: tuple[int, ...] | None = None

    def attempt(self, name: CheckName, step: Callable[[], str]) -> Check:
        if not self.is_founded:
            return Check(name=name, outcome=Outcome.NOT_CHECKED, message="what it rests on does not hold")
        try:
            return Check(name=name, outcome=Outcome.OK, message=step())
        except Error as error:
            self.is_founded = False
            return Check(name=name, outcome=Outcome.FAILED, message=str(error), code=error.code)

    def cover(self) -> str:
        """Each index begins where the one before it ends, the first with entry 1, and the last is the bundle's."""
        end, previous, seals = 0, None, []
        for segment in self.proof.segments:
            head, seal = read_seal(self._text(segment.index))
            if (seal.first, seal.previous) != (end + 1, previous) or head.sequence_number <= seal.last:
                raise IncompleteSearchError(f"expected an index from entry {end + 1} on, got one from {seal.first}")
            end, previous = seal.last, head.sequence_number
            seals.append(seal)
        if not seals or self.proof.segments[-1].index.entry != self.proof.newest.entry:
            raise IncompleteSearchError("expected the index that the bundle proves as the last one")
        self.seals = tuple(seals)
        return f"{len(seals)} logged indexes cover entries 1 to {end}"

    def complete(self) -> str:
        """Every index answers every term; an entry is meant when it has them all."""
        terms, numbers = tuple(map(parse_term, self.proof.terms)), []
        if not terms:
            raise IncompleteSearchError("expected at least one term, got none")
        for seal, segment in zip(self.seals, self.proof.segments, strict=True):
            if len(segment.answers) != len(terms):
                raise IncompleteSearchError(f"expected {len(terms)} answers of each index, got {len(segment.answers)}")
            for term, answer in zip(terms, segment.answers, strict=True):
                verify_answer(seal, term, answer)
            numbers += common_numbers(segment.answers)
        self.numbers = tuple(numbers)
        return f"every index answers every term: {len(numbers)} entries have all of them"

    def find(self) -> str:
        shown = [self._number(one) for one in self.proof.entries]
        if shown != list(self.numbers or ()):
            raise IncompleteSearchError(f"expected the {len(self.numbers or ())} entries that the indexes name")
        return f"{len(shown)} entries are shown, each in the ledger and with every term"

    def _number(self, proven: ProvenEntry) -> int:
        text = self._text(proven)
        if not terms_of(text).issuperset(self.proof.terms):
            raise IncompleteSearchError("expected entries that have every term, got one that does not")
        return parse_entry_head(text).sequence_number

    def _text(self, proven: ProvenEntry) -> bytes:
        """The entry's text, if it is where it says it is in the tree of the checkpoint, and of the same ledger."""
        text = proven.entry.encode(errors="surrogatepass")
        head, checkpoint = parse_entry_head(text), self._checkpoint
        if head.tenant_id != parse_entry_head(self.proof.newest.entry.encode()).tenant_id:
            raise IncompleteSearchError(f"expected entries of one ledger, got one of `{head.tenant_id}`")
        place = head.sequence_number - 1
        verify_inclusion(leaf_hash(text), place, checkpoint.size, proven.inclusion_path, checkpoint.root)
        return text

    @property
    def _checkpoint(self) -> Checkpoint:
        return parse_checkpoint(self.proof.newest.checkpoint.encode()).checkpoint
