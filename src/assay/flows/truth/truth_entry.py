"""What speaks at a truth key: the records under it, the fingerprints of its evidence, and the entries that say so."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from assay.facts.truth import ENTRY_KINDS, resemblance_id
from assay.kernel.ids import TenantId
from assay.kernel.json_text import parse_json
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.truth_store import RecordKind, TruthRecord
from assay.truth.contract import SimilarityMethod

# Of one piece of evidence: each is one more look at every observation that carries it.
MOST_RESEMBLANCES = 64


class _Ref(Struct):
    sha256: str


class _Said(Struct):
    """The member of an observation's text that fingerprints are found by."""

    evidence_refs: tuple[_Ref, ...] = ()


_SAID = msgspec.json.Decoder(_Said)


def key_records(unit: Unit, tenant_id: TenantId, truthkey: str, *, through: int = 0) -> tuple[TruthRecord, ...]:
    """Return what a compilation of a key reads: its records, and the fingerprints of its evidence under other keys.

    Fingerprints count that were recorded up to the key's newest record, or to the entry `through` if that is later.
    """
    records = tuple(unit.truth.records(tenant_id, truthkey))
    if unit.ledger.find_latest(tenant_id, EntryKind.FINGERPRINT_RECORDED) is None:
        return records
    last = max((record.sequence_number for record in records), default=0)
    said = (_SAID.decode(record.text) for record in records if record.kind is RecordKind.OBSERVATION)
    evidence = {ref.sha256 for one in said for ref in one.evidence_refs}
    known = {record.sequence_number for record in records if record.kind is RecordKind.FINGERPRINT}
    brought = {
        record.sequence_number: record
        for record in find_fingerprints(unit, tenant_id, evidence)
        if record.sequence_number <= max(last, through) and record.sequence_number not in known
    }
    return (*records, *brought.values())


def find_fingerprints(unit: Unit, tenant_id: TenantId, evidence: Iterable[str]) -> tuple[TruthRecord, ...]:
    """Return the fingerprints and resemblances of these pieces of evidence, under any key, in the order of entries."""
    pieces = sorted(evidence)
    names = [fingerprint_id(sha256, method) for sha256 in pieces for method in SimilarityMethod]
    return unit.truth.fingerprints(tenant_id, names, map(resemblance_id, pieces))


def fingerprint_id(sha256: str, method: SimilarityMethod) -> str:
    return f"{method.value}.{sha256}"


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
            # Known before the observation came: it counted at once. Known later: from the key's next record on.
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
