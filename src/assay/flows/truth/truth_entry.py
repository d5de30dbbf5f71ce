"""How truth is written down: an entry that holds the whole record, and rows beside it that make it quick to find.

record -> entry of its kind (with the trust signal it is) -> rows that carry the entry's number, in one commit
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from msgspec import Raw, Struct
from msgspec.structs import replace

from assay.kernel.canonical import canonicalize
from assay.kernel.errors import StoreError
from assay.kernel.ids import KeyId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.json_text import parse_json
from assay.kernel.key import SigningMethod
from assay.kernel.ledger import Draft, EntryKind, Event, Receipt, draft_entry
from assay.ports.database import Unit
from assay.ports.trust_store import LoggedSignal
from assay.ports.truth_store import RecordKind, TruthRecord
from assay.review.answer import Answer
from assay.trust.signal import TrustSignal, render_signal
from assay.truth.contract import SimilarityMethod
from assay.truth.evidence import EMBEDDING

T = TypeVar("T")
# Of one piece of evidence: each is one more look at every observation that carries it.
MOST_RESEMBLANCES = 64

ENTRY_KINDS: Mapping[RecordKind, EntryKind] = MappingProxyType(
    {
        RecordKind.OBSERVATION: EntryKind.OBSERVATION_RECORDED,
        RecordKind.VOTE: EntryKind.VOTE_CAST,
        RecordKind.AI_SCORE: EntryKind.AI_SCORE_RECORDED,
        RecordKind.FINGERPRINT: EntryKind.FINGERPRINT_RECORDED,
        RecordKind.WINDOW_EVENT: EntryKind.WINDOW_CHANGED,
    }
)


class EventSignature(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A signature by the node's truth key over the canonical bytes of the record, under its own domain."""

    key_id: KeyId
    method: SigningMethod
    signature: str


class VoteAnswer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What makes a vote its voter's own: the signed answer, and the very text that its `seen_hash` is the hash of.

    `voter_entry` is the entry that says who the voter was then, and with which key that person signs.
    """

    answer: Answer
    shown: str
    voter_entry: int


class BronzeBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of an entry that records what a compilation reads: enough to compile again from the ledger alone.

    `receipt_time` is when it reached us (Kaori 4.3), `submitted_by` the authenticated principal who did, `signal`
    the trust signal that this is, where it is one. A window event carries a `signature`, a vote its `answer`.
    """

    truthkeys: tuple[str, ...]
    record: dict[str, Any]
    record_hash: str
    receipt_time: Instant
    submitted_by: str
    signal: dict[str, Any] | None = None
    ticket_id: str | None = None
    signature: EventSignature | None = None
    answer: VoteAnswer | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bronze:
    """A record on its way: the entry, and rows that get the entry's number when it has one."""

    draft: Draft
    rows: tuple[TruthRecord, ...]
    signal: LoggedSignal | None


def draft_bronze(
    tenant_id: TenantId,
    kind: RecordKind,
    text: bytes,
    *,
    truthkeys: Iterable[str],
    record_id: str,
    record_hash: str,
    by: str,
    occurred_at: Instant,
    submitted_by: str,
    at: Instant,
    signal: TrustSignal | None = None,
    ticket_id: str | None = None,
    signature: EventSignature | None = None,
    answer: VoteAnswer | None = None,
) -> Bronze:
    """Everything that costs time, done before the writer's turn."""
    keys = tuple(sorted(truthkeys))
    body = BronzeBody(
        truthkeys=keys,
        record=json_of(text),
        record_hash=record_hash,
        receipt_time=at,
        submitted_by=submitted_by,
        signal=None if signal is None else json_of(render_signal(signal)),
        ticket_id=ticket_id,
        signature=signature,
        answer=answer,
    )
    news = {"truthkeys": keys, "kind": kind.value, "record_id": record_id, "record_hash": record_hash}
    entry_kind = ENTRY_KINDS[kind]
    rows = tuple(
        TruthRecord(
            kind=kind,
            truthkey=key,
            record_id=record_id,
            record_hash=record_hash,
            by=by,
            occurred_at=occurred_at,
            received_at=at,
            text=text.decode(),
            sequence_number=0,
        )
        for key in keys
    )
    draft = draft_entry(tenant_id, entry_kind, body, at=at, events=(news_of(entry_kind, record_id, news),))
    return Bronze(draft=draft, rows=rows, signal=None if signal is None else logged_signal(signal))


def add_bronze(unit: Unit, bronze: Bronze) -> Receipt:
    tenant_id = bronze.draft.tenant_id
    receipt = unit.record(bronze.draft)
    for row in bronze.rows:
        unit.truth.add_record(tenant_id, replace(row, sequence_number=receipt.sequence_number))
    if bronze.signal is not None:
        unit.trust.add_signal(tenant_id, replace(bronze.signal, sequence_number=receipt.sequence_number))
    return receipt


def fingerprint_id(sha256: str, method: SimilarityMethod) -> str:
    return f"{method.value}.{sha256}"


def resemblance_ids(sha256: str) -> Iterator[str]:
    """The places for what a piece of evidence resembles, in the order in which they are taken; there are so many."""
    return (f"{EMBEDDING}_{place}.{sha256}" for place in range(MOST_RESEMBLANCES))


def known_fingerprints(sha256: str, find: Callable[[str], T | None]) -> Iterator[T]:
    """Whatever `find` has under the ids that fingerprints and resemblances of this evidence may have."""
    for method in SimilarityMethod:
        found = find(fingerprint_id(sha256, method))
        if found is not None:
            yield found
    for place in resemblance_ids(sha256):
        found = find(place)
        if found is None:
            return
        yield found


def stand_under(unit: Unit, tenant_id: TenantId, known: TruthRecord, truthkey: str) -> None:
    """A record that has its entry stands under one more key; where it stands already, nothing changes."""
    try:
        unit.truth.add_record(tenant_id, replace(known, truthkey=truthkey))
    except StoreError as error:
        if error.code != "store.conflict":
            raise


def logged_signal(signal: TrustSignal, *, sequence_number: int = 0) -> LoggedSignal:
    return LoggedSignal(
        sequence_number=sequence_number,
        signal_id=signal.signal_id,
        kind=signal.kind.value,
        agent_id=signal.agent_id,
        occurred_at=signal.occurred_at,
        text=render_signal(signal).decode(),
    )


def news_of(kind: EntryKind, subject: str, news: Mapping[str, object]) -> Event:
    """What subscribers are told; who wants more reads the entry."""
    return Event(type=kind.value, subject=subject, body=Raw(canonicalize(news)))


def json_of(text: bytes | str) -> dict[str, Any]:
    """A record's canonical text as the value that an entry holds; both profiles write the same value."""
    value: Any = parse_json(text)
    return dict(value)


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
