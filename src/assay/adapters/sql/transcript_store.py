"""Language model transcripts in SQL, as the canonical text that was signed (SKI 7.4)."""

from collections.abc import Iterator, Sequence

from assay.adapters.sql.record import ConflictError, read_record, write_record
from assay.adapters.sql.session import SqlSession
from assay.adapters.sql.storable import verify_key
from assay.kernel.ids import TenantId
from assay.kernel.transcript import Transcript
from assay.ports.damage import DamagedRecordError


class SqlTranscriptStore:
    """Implements `ports.transcript_store.TranscriptStore`."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session

    def add(self, tenant_id: TenantId, transcript: Transcript) -> None:
        verify_key("transcript id", transcript.transcript_id)
        # No look goes before: the table's own key says whether the place is taken, and SQLite's trigger says it first.
        try:
            added = self._session.run(
                "INSERT INTO transcript (tenant_id, transcript_id, record) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (tenant_id, transcript.transcript_id, write_record(transcript)),
            )
        except ConflictError as error:
            raise ConflictError(f"the transcript `{transcript.transcript_id}` is already there") from error
        if not added:
            raise ConflictError(f"the transcript `{transcript.transcript_id}` is already there")

    def add_many(self, tenant_id: TenantId, transcripts: Sequence[Transcript]) -> None:
        for one in transcripts:
            verify_key("transcript id", one.transcript_id)
        rows = [(tenant_id, one.transcript_id, write_record(one)) for one in transcripts]
        try:
            self._session.insert("transcript", ("tenant_id", "transcript_id", "record"), rows)
        except ConflictError as error:
            raise ConflictError(f"one of {len(rows)} transcripts is already there") from error

    def find(self, tenant_id: TenantId, transcript_id: str) -> Transcript | None:
        rows = self._session.query(
            "SELECT record FROM transcript WHERE tenant_id = ? AND transcript_id = ?", (tenant_id, transcript_id)
        )
        return read_record(rows[0][0], Transcript) if rows else None

    def all(self, tenant_id: TenantId) -> Iterator[Transcript]:
        rows = self._session.stream(
            "SELECT transcript_id, record FROM transcript WHERE tenant_id = ? ORDER BY transcript_id", (tenant_id,)
        )
        return (_named(transcript_id, read_record(record, Transcript)) for transcript_id, record in rows)


def _named(transcript_id: object, transcript: Transcript) -> Transcript:
    if transcript.transcript_id != transcript_id:
        raise DamagedRecordError(f"expected the transcript `{transcript_id!s:.80}`, got `{transcript.transcript_id}`")
    return transcript
