"""A verdict's entry with its neighbour and its transcript, as the database has them: believed as far as they prove.

number -> row and the next -> the proven text -> the transcript, if its signature holds -> StoredVerdict
"""

from collections.abc import Iterator
from dataclasses import dataclass

from assay.flows.errors import NotFoundError
from assay.flows.ledger.check_entry import verify_stored_entry
from assay.flows.tools import Tools
from assay.flows.verdicts.verdict_entry import ReadBody, ReadEntry, read_entry
from assay.kernel.digest import digest_of
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.json_text import CANONICAL_LIMITS, parse_json
from assay.kernel.key import KeyPurpose, KeyRing
from assay.kernel.ledger import EntryKind
from assay.kernel.transcript import Transcript, transcript_id_of, verify_transcript
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.ledger_store import StoredEntry
from assay.verdicts.envelope import Envelope, VerdictPath
from assay.verdicts.replay import Replay, ReplayResult, ReplayStep, StepFinding, StepResult

_KINDS = (EntryKind.VERDICT, EntryKind.VERDICT_HELD, EntryKind.VERDICT_FINAL, EntryKind.VERDICT_V2)
VERDICT_KINDS = frozenset(kind.value for kind in _KINDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptReply:
    """What a transcript keeps of an answer, or of why there is none; without a transcript nothing of either."""

    text: str | None = None
    characters: int | None = None
    is_complete: bool = False
    failure: str | None = None
    is_bound: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredVerdict:
    """`transcript` is None where none is kept, or one that was not signed so: then `altered` says what is wrong."""

    row: StoredEntry
    following: StoredEntry | None
    read: ReadEntry
    transcript: Transcript | None
    reply: KeptReply
    altered: dict[ReplayStep, str]

    @property
    def envelope(self) -> Envelope:
        return self.read.envelope

    @property
    def body(self) -> ReadBody:
        return self.read.body

    @property
    def is_fast(self) -> bool:
        return self.envelope.verdict_path is VerdictPath.FAST


def load_stored_verdict(tools: Tools, ring: KeyRing, tenant_id: TenantId, number: int) -> StoredVerdict | Replay:
    """The entry, or what a replay comes to that has none to work on; `flow.not_found` where no verdict is there."""
    try:
        row, following = tools.database.read(lambda unit: _rows(unit, tenant_id, number))
    except DamagedRecordError as error:
        return _unreadable(number, error)
    if _is_before_v3(row):
        return Replay(sequence_number=number, result=ReplayResult.SKIPPED_PRE_V3)
    try:
        read = read_entry(row.text)
        verify_stored_entry(row, tenant_id, number, previous_hash=read.entry.previous_hash)
    except Error as error:
        # Whatever else it is, it is no entry that can be believed.
        return _unreadable(number, error)
    transcript, altered = _transcript(tools, ring, tenant_id, read.envelope.transcript_ref)
    return StoredVerdict(
        row=row, following=following, read=read, transcript=transcript, reply=_reply(transcript), altered=altered
    )


def _rows(unit: Unit, tenant_id: TenantId, number: int) -> tuple[StoredEntry, StoredEntry | None]:
    row = unit.ledger.find_entry(tenant_id, number)
    if row is None or row.kind not in VERDICT_KINDS:
        raise NotFoundError(f"tenant `{tenant_id}` has no verdict in entry {number}")
    return row, unit.ledger.find_entry(tenant_id, number + 1)


def _is_before_v3(row: StoredEntry) -> bool:
    """Whether an entry is older than v3, by its proven text: a column that said so would be a way round a replay."""
    if digest_of(row.text) != row.entry_hash:
        return False
    try:
        entry = parse_json(row.text, limits=CANONICAL_LIMITS)
    except Error:
        return False
    version = str(entry.get("schema_version")) if isinstance(entry, dict) else ""
    return version.startswith(("1.", "2."))


def _unreadable(number: int, error: Error) -> Replay:
    wrong = StepFinding(step=ReplayStep.CHAIN, result=StepResult.DIVERGED, detail=f"{error.code}: {error}")
    return Replay(sequence_number=number, result=ReplayResult.REPLAY_DIVERGENCE, steps=(wrong,))


def _transcript(
    tools: Tools, ring: KeyRing, tenant_id: TenantId, ref: str
) -> tuple[Transcript | None, dict[ReplayStep, str]]:
    """The transcript, if it is the one that was signed; where one is kept that is not, which step that shows in."""
    try:
        transcript = tools.database.read(lambda unit: unit.transcripts.find(tenant_id, ref))
    except DamagedRecordError as error:
        return None, {ReplayStep.TRANSCRIPT: f"{error.code}: {error}"}
    if transcript is None:
        return None, {}
    altered = dict(_alterations(transcript, ref))
    try:
        record = ring.get(transcript.signing_key_id, transcript.completed_at, purpose=KeyPurpose.TRANSCRIPT)
        verify_transcript(transcript, record.raw_public_key or b"")
    except Error as error:
        altered = altered or {ReplayStep.TRANSCRIPT: f"{error.code}: {error}"}
    return (None, altered) if altered else (transcript, {})


def _alterations(transcript: Transcript, ref: str) -> Iterator[tuple[ReplayStep, str]]:
    """Which of its texts is not what its hashes and its id say: the question shows in step 3, all else in step 4."""
    asked, answered = (digest_of(t.encode()) for t in (transcript.request_canonical, transcript.response_canonical))
    if asked != transcript.request_hash:
        yield ReplayStep.PROMPT, f"the recorded question: expected `{transcript.request_hash}`, got `{asked}`"
    if answered != transcript.response_hash:
        yield ReplayStep.TRANSCRIPT, f"the recorded answer: expected `{transcript.response_hash}`, got `{answered}`"
    elif asked == transcript.request_hash and (found := _id_of(transcript)) != ref:
        yield ReplayStep.TRANSCRIPT, f"the transcript: expected `{ref}`, got `{found}`"


def _id_of(transcript: Transcript) -> str:
    try:
        return transcript_id_of(transcript)
    except Error as error:
        return error.code


def _reply(transcript: Transcript | None) -> KeptReply:
    kept = None if transcript is None else parse_json(transcript.response_canonical)
    if not isinstance(kept, dict):
        return KeptReply()
    text, characters, failure = kept.get("text"), kept.get("characters"), kept.get("failure")
    return KeptReply(
        text=text if isinstance(text, str) else None,
        characters=characters if isinstance(characters, int) else None,
        is_complete=kept.get("is_complete") is True,
        failure=None if "failure" not in kept else str(failure),
        is_bound=kept.get("is_bound") is not False,
    )
