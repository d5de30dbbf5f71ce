"""Replay states from a file that somebody exported: no database, no node, only a key that one trusts.

lines of entries -> the chain holds -> keys that the anchors lead to -> `replay_state` for each state, nothing left out
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from msgspec import MsgspecError, convert
from msgspec.structs import replace

from assay.flows.errors import FlowError
from assay.flows.trust.ledger_signals import LedgerSignals
from assay.flows.truth.key_entries import KeyEntries
from assay.flows.truth.replay_entry import ReplayCode, ReplayProblem
from assay.flows.truth.replay_state import ReplayFinding, replay_state, trust_reach
from assay.kernel.bundle import Bundle, EntryHead, parse_entry_head
from assay.kernel.digest import digest_of
from assay.kernel.errors import Blame, Error
from assay.kernel.key import Endorsement, KeyRing, Retirement, TrustAnchors, trusted_keys
from assay.kernel.ledger import EntryKind
from assay.trust.evolve import Fold

_KEY_FACTS = (EntryKind.KEY_ADDED, EntryKind.KEY_RETIRED)
# What a replay may need; everything else of a ledger is only a link of the chain.
_NEEDED = frozenset(
    {
        EntryKind.PRINCIPAL_ADDED,
        EntryKind.PRINCIPAL_CHANGED,
        EntryKind.CONTRACT_RELEASED,
        EntryKind.OBSERVATION_RECORDED,
        EntryKind.VOTE_CAST,
        EntryKind.AI_SCORE_RECORDED,
        EntryKind.FINGERPRINT_RECORDED,
        EntryKind.WINDOW_CHANGED,
        EntryKind.SNAPSHOT_FROZEN,
        EntryKind.TRUTH_STATE,
        EntryKind.TRUST_SIGNAL,
        EntryKind.TRUST_POLICY,
    }
)


class BrokenExportError(FlowError):
    """The lines are not one ledger, each entry naming the hash of the one before it."""

    code = "replay.broken_export"
    blame = Blame.INPUT


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryBook:
    """The entries of an export that matter to truth, by number, and the keys that it speaks of.

    `is_whole` where it begins with the first entry: only then can anybody see that nothing was left out.
    """

    texts: dict[int, bytes]
    states: tuple[int, ...]
    speaking: KeyEntries
    signals: LedgerSignals
    is_whole: bool
    endorsements: tuple[Endorsement, ...]
    retirements: tuple[Retirement, ...]

    def ring(self, anchors: TrustAnchors) -> KeyRing:
        return trusted_keys(anchors, self.endorsements, self.retirements)

    def key_entries(self, truthkey: str, through: int) -> KeyEntries:  # noqa: ARG002 - a node's ledger asks for these
        return self.speaking

    def fold(self, policy_hash: str | None, through: int) -> Fold | None:
        return self.signals.fold(policy_hash, through)

    def trust_through(self, number: int) -> int:
        """Up to which signal the snapshot of a state reaches; whoever goes by that folds each signal once."""
        try:
            return trust_reach(self.texts.get, number)
        except Error:
            return 0


def read_export(lines: Iterable[bytes]) -> EntryBook:
    """All of it, in order and linked; an export that begins later begins with its first entry's word."""
    texts: dict[int, bytes] = {}
    states: list[int] = []
    facts: list[Endorsement | Retirement] = []
    speaking, signals, first = KeyEntries(), LedgerSignals(texts), 0
    for text, head in _linked(lines):
        first = first or head.sequence_number
        speaking.add(head.sequence_number, head.kind, head.body)
        signals.note(head.sequence_number, head.kind)
        if head.kind in _NEEDED:
            texts[head.sequence_number] = text
        if head.kind == EntryKind.TRUTH_STATE:
            states.append(head.sequence_number)
        if head.kind in _KEY_FACTS:
            facts.append(_fact(head))
    return EntryBook(
        texts=texts,
        states=tuple(states),
        speaking=speaking,
        signals=signals,
        is_whole=first == 1,
        endorsements=tuple(one for one in facts if isinstance(one, Endorsement)),
        retirements=tuple(one for one in facts if isinstance(one, Retirement)),
    )


def _linked(lines: Iterable[bytes]) -> Iterator[tuple[bytes, EntryHead]]:
    previous, number = None, 0
    for line in lines:
        text = line.rstrip(b"\n")
        if not text:
            continue
        head = parse_entry_head(text)
        if previous is not None and (head.previous_hash != previous or head.sequence_number != number + 1):
            raise BrokenExportError(f"expected entry {number + 1} after {previous}, got {head.sequence_number}")
        previous, number = digest_of(text), head.sequence_number
        yield text, head


def _fact(head: EntryHead) -> Endorsement | Retirement:
    try:
        if head.kind == EntryKind.KEY_ADDED:
            return convert(head.body, Endorsement)
        return convert(head.body, Retirement)
    except MsgspecError as error:
        raise BrokenExportError(f"expected a key in entry {head.sequence_number}: {error}") from error


def replay_export(
    lines: Iterable[bytes], anchors: TrustAnchors, *, truthkey: str | None = None, skip_trust: bool = False
) -> list[ReplayFinding]:
    """Every state in the file, or those of one key; none at all is an empty answer, and no proof of anything."""
    book = read_export(lines)
    ring = book.ring(anchors)
    order = sorted(book.states, key=lambda number: (book.trust_through(number), number))
    findings = {number: _replayed(book, number, ring, skip_trust=skip_trust) for number in order}
    return [one for _, one in sorted(findings.items()) if truthkey is None or one.truthkey == truthkey]


def _replayed(book: EntryBook, number: int, ring: KeyRing, *, skip_trust: bool) -> ReplayFinding:
    if book.is_whole:
        return replay_state(book.texts.get, number, ring, ledger=book, skip_trust=skip_trust)
    finding = replay_state(book.texts.get, number, ring)
    message = "expected an export from entry 1 on: of a part nobody can tell what was left out"
    return replace(finding, problems=(*finding.problems, ReplayProblem(code=ReplayCode.PARTIAL, message=message)))


def replay_bundle(bundle: Bundle, anchors: TrustAnchors) -> ReplayFinding:
    """The state of a proof bundle with what `prove_truth` attached; that the ledger holds it, `check_bundle` says."""
    head = parse_entry_head(bundle.entry.encode())
    texts = {parse_entry_head(one.content).sequence_number: one.content for one in bundle.attachments}
    texts[head.sequence_number] = bundle.entry.encode()
    ring = trusted_keys(anchors, bundle.keys, bundle.retirements)
    return replay_state(texts.get, head.sequence_number, ring)
