"""The Coverage Register (SKI 9.2): which subjects send telemetry that no rule speaks about.

an unmapped record -> register_unmapped -> CoverageEntry; a graph that knows the subject -> register_mapped
"""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from assay.kernel.digest import Digest
from assay.kernel.instant import Instant
from assay.verdicts.telemetry import Telemetry


class CoverageEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One subject that received NULL_UNMAPPED. `mapped_by` is the graph that knows it now, None while it is a gap."""

    subject: str
    first_seen_at: Instant
    last_seen_at: Instant
    records: int
    last_telemetry_id: str
    jurisdictions: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    mapped_by: Digest | None = None


def register_unmapped(entry: CoverageEntry | None, telemetry: Telemetry) -> CoverageEntry:
    """Count one more NULL_UNMAPPED; a subject that was mapped and is not any more is a gap again.

    Times are those of the records, so a late record may move `first_seen_at` back.
    """
    declared = () if telemetry.jurisdiction is None else (telemetry.jurisdiction,)
    if entry is None:
        return CoverageEntry(
            subject=telemetry.subject,
            first_seen_at=telemetry.timestamp,
            last_seen_at=telemetry.timestamp,
            records=1,
            last_telemetry_id=telemetry.telemetry_id,
            jurisdictions=declared,
            metrics=tuple(sorted(telemetry.readings)),
        )
    return replace(
        entry,
        first_seen_at=min(entry.first_seen_at, telemetry.timestamp),
        last_seen_at=max(entry.last_seen_at, telemetry.timestamp),
        records=entry.records + 1,
        last_telemetry_id=telemetry.telemetry_id,
        jurisdictions=tuple(sorted({*entry.jurisdictions, *declared})),
        metrics=tuple(sorted({*entry.metrics, *telemetry.readings})),
        mapped_by=None,
    )


def register_mapped(entry: CoverageEntry, kg_version_hash: Digest) -> CoverageEntry:
    return replace(entry, mapped_by=kg_version_hash)


def open_gaps(entries: Iterable[CoverageEntry]) -> tuple[CoverageEntry, ...]:
    """The subjects without rules, the busiest first."""
    gaps = [entry for entry in entries if entry.mapped_by is None]
    return tuple(sorted(gaps, key=lambda entry: (-entry.records, entry.subject)))
