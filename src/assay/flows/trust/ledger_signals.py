"""Trust folded from the entries of a ledger alone: no table, no mark, nothing but what the chain holds.

entries in order -> the signal that each one is -> Fold under the policy that the entries themselves put in force
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from itertools import islice
from operator import itemgetter
from typing import Any

from assay.kernel.json_text import parse_json
from assay.kernel.ledger import EntryKind
from assay.trust.evolve import Fold
from assay.trust.parse_policy import parse_policy
from assay.trust.policy import TrustPolicy
from assay.trust.signal import parse_signal

SIGNAL_KINDS = frozenset(
    {
        EntryKind.OBSERVATION_RECORDED,
        EntryKind.VOTE_CAST,
        EntryKind.WINDOW_CHANGED,
        EntryKind.TRUTH_STATE,
        EntryKind.TRUST_SIGNAL,
        EntryKind.TRUST_POLICY,
    }
)
_ENTRY_WITH_KIND = tuple[str, bytes]


def policy_at(entries: Iterable[_ENTRY_WITH_KIND]) -> TrustPolicy | None:
    """The last one that these entries registered."""
    document = None
    for kind, text in entries:
        if kind == EntryKind.TRUST_POLICY:
            document = _body(text).get("document")
    return parse_policy(document) if isinstance(document, str) else None


def folded_again(fold: Fold, entries: Iterable[_ENTRY_WITH_KIND]) -> Fold:
    """Judged anew, form by form: whoever hands us entries may have written them."""
    for kind, text in entries:
        if kind in SIGNAL_KINDS:
            signal = _body(text).get("signal")
            if signal is not None:
                fold.add(parse_signal(signal))
    return fold


class LedgerSignals:
    """Entries by number that are all at hand; asked in the order of `through`, each signal is folded once."""

    def __init__(self, texts: Mapping[int, bytes]) -> None:
        self._texts = texts
        self._kinds: list[tuple[int, str]] = []
        self._policies: dict[int, TrustPolicy] = {}
        self._folds: dict[str, tuple[Fold, int]] = {}

    def note(self, number: int, kind: str) -> None:
        """An entry that came by, in the order of their numbers."""
        if kind in SIGNAL_KINDS:
            self._kinds.append((number, kind))

    def fold(self, policy_hash: str | None, through: int) -> Fold | None:
        """None where another policy than the one that is named was in force at that entry."""
        policy = self._policy_at(through)
        if policy is None or policy_hash not in (None, policy.policy_hash):
            return None
        fold, reached = self._folds.get(policy.policy_hash, (Fold(policy), 0))
        if reached > through:
            fold, reached = Fold(policy), 0
        self._folds[policy.policy_hash] = (folded_again(fold, self._between(reached, through)), through)
        return fold

    def _policy_at(self, through: int) -> TrustPolicy | None:
        known = [number for number, kind in self._kinds if kind == EntryKind.TRUST_POLICY and number <= through]
        if not known:
            return None
        number = known[-1]
        if number not in self._policies:
            found = policy_at([(EntryKind.TRUST_POLICY, self._texts[number])])
            if found is None:
                return None
            self._policies[number] = found
        return self._policies[number]

    def _between(self, after: int, through: int) -> Iterable[_ENTRY_WITH_KIND]:
        first = bisect_right(self._kinds, after, key=itemgetter(0))
        for number, kind in islice(self._kinds, first, None):
            if number > through:
                return
            yield kind, self._texts[number]


def _body(text: bytes) -> Mapping[str, Any]:
    entry = parse_json(text)
    body = entry.get("body") if isinstance(entry, dict) else None
    return body if isinstance(body, dict) else {}
