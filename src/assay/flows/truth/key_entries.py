"""Which entries speak at a truth key, as the ledger itself has them: what a state must name and may, and its states.

entries of Bronze in order -> by the keys that their bodies name; fingerprints by the evidence that they are of
A fingerprint has one entry and speaks wherever an observation carries its evidence, so from there it is worked out.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from assay.flows.truth.truth_entry import ENTRY_KINDS
from assay.kernel.ids import TenantId
from assay.kernel.json_text import parse_json
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit

BRONZE_KINDS = frozenset(ENTRY_KINDS.values())
_PRINCIPALS = frozenset({EntryKind.PRINCIPAL_ADDED, EntryKind.PRINCIPAL_CHANGED})
_SPEAKING = BRONZE_KINDS | {EntryKind.TRUTH_STATE}


class Omission(NamedTuple):
    """An entry that a state should name and does not, or one that has no business at its key."""

    number: int
    is_foreign: bool


class KeyEntries:
    """Grows entry by entry; whoever hands them in decides of which keys it knows."""

    def __init__(self) -> None:
        self._naming: defaultdict[str, list[int]] = defaultdict(list)
        self._evidence: defaultdict[str, list[tuple[int, frozenset[str]]]] = defaultdict(list)
        self._fingerprints: defaultdict[str, list[int]] = defaultdict(list)
        self._states: defaultdict[str, list[int]] = defaultdict(list)
        self._principals: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, number: int, kind: str, body: Mapping[str, Any]) -> None:
        """A body of another shape speaks at no key here; whoever replays or audits it says what is wrong with it."""
        state = body.get("state")
        if kind == EntryKind.TRUTH_STATE and isinstance(state, dict):
            self._states[str(state.get("truthkey"))].append(number)
        if kind in _PRINCIPALS:
            self._principals[str(body.get("id"))].append(number)
        keys, record = body.get("truthkeys"), body.get("record")
        if kind not in BRONZE_KINDS or not isinstance(keys, list) or not isinstance(record, dict):
            return
        for key in keys:
            self._naming[str(key)].append(number)
            if kind == EntryKind.OBSERVATION_RECORDED:
                self._evidence[str(key)].append((number, evidence_of(record)))
        if kind == EntryKind.FINGERPRINT_RECORDED:
            self._fingerprints[str(record.get("sha256"))].append(number)

    def states(self, truthkey: str, *, before: int) -> tuple[int, ...]:
        """The entries of a key's states before one, in order."""
        return tuple(number for number in self._states.get(truthkey, ()) if number < before)

    def find_principal(self, principal_id: str, *, before: int) -> int | None:
        """The entry about a principal that was in force before another entry."""
        numbers = [number for number in self._principals.get(principal_id, ()) if number < before]
        return numbers[-1] if numbers else None

    def omissions(self, truthkey: str, named: Collection[int], *, through: int) -> Iterator[Omission]:
        """How a list of inputs up to an entry differs from what the ledger says, in the order of entries."""
        must, may = self._speaking(truthkey, through)
        for number in sorted((must - set(named)) | (set(named) - must - may)):
            yield Omission(number, is_foreign=number not in must)

    def _speaking(self, truthkey: str, through: int) -> tuple[set[int], set[int]]:
        must = {number for number in self._naming.get(truthkey, ()) if number <= through}
        may: set[int] = set()
        for observed, evidence in self._evidence.get(truthkey, ()):
            if observed > through:
                continue
            # Known before the observation came: it stood under the key at once. Known later: when somebody attached it.
            known = {number for sha256 in evidence for number in self._fingerprints.get(sha256, ())}
            must |= {number for number in known if number < observed}
            may |= {number for number in known if number <= through}
        return must, may


def evidence_of(record: Mapping[str, Any]) -> frozenset[str]:
    """The SHA-256 of everything that an observation, as it was recorded, carries."""
    refs = record.get("evidence_refs")
    return frozenset(str(ref.get("sha256")) for ref in refs or () if isinstance(ref, dict))


def read_key_entries(unit: Unit, tenant_id: TenantId, truthkey: str, *, through: int) -> KeyEntries:
    """Of one key, and of all principals, from the entries and not from the rows; every entry up to there is looked at,
    few are parsed.
    """
    found, named = KeyEntries(), truthkey.encode()
    for row in unit.ledger.entries(tenant_id, last=through):
        is_named = named in row.text or row.kind == EntryKind.FINGERPRINT_RECORDED
        if row.kind not in _PRINCIPALS and not (row.kind in _SPEAKING and is_named):
            continue
        entry = parse_json(row.text)
        body = entry.get("body") if isinstance(entry, dict) else None
        if isinstance(body, dict):
            found.add(row.sequence_number, row.kind, body)
    return found
