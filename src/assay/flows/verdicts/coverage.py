"""What the rules do not speak about, how often the model is right, and what windows can look back at (SKI 9.2)."""

from msgspec import Struct

from assay.flows.tools import Tools
from assay.flows.verdicts.verdict_entry import read_coverage
from assay.kernel.ids import TenantId
from assay.verdicts.agreement import Canary, measure_agreement
from assay.verdicts.cover import CoverageEntry, open_gaps
from assay.verdicts.envelope import VerifierStatus
from assay.verdicts.window_fact import BufferState


class CoverageReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The Coverage Register: gaps first, the busiest first; then what a later graph closed."""

    gaps: tuple[CoverageEntry, ...]
    closed: tuple[CoverageEntry, ...]


def show_coverage(tools: Tools, tenant_id: TenantId) -> CoverageReport:
    """Subjects that received NULL_UNMAPPED."""
    rows = tools.database.read(lambda unit: unit.verdicts.coverage(tenant_id))
    entries = [read_coverage(row) for row in rows]
    return CoverageReport(
        gaps=open_gaps(entries), closed=tuple(entry for entry in entries if entry.mapped_by is not None)
    )


def check_agreement(tools: Tools, tenant_id: TenantId) -> Canary:
    """The agreement rate over the latest verdicts that a model was asked for; the window survives a restart."""
    window = tools.ski.agreement_window
    statuses = tools.database.read(lambda unit: unit.verdicts.statuses(tenant_id, window))
    return measure_agreement(
        [VerifierStatus(status) for status in statuses], window_size=window, threshold=tools.ski.agreement_threshold
    )


def show_buffers(tools: Tools, tenant_id: TenantId) -> tuple[BufferState, ...]:
    """The telemetry buffer of each subject."""
    extents = tools.database.read(
        lambda unit: [
            (extent, unit.telemetry.dropped_until(tenant_id, extent.subject))
            for extent in unit.telemetry.extents(tenant_id)
        ]
    )
    return tuple(
        BufferState(
            subject=extent.subject,
            records=extent.records,
            oldest_at=extent.oldest_at,
            newest_at=extent.newest_at,
            dropped_until=dropped,
            keep_seconds=tools.ski.keep_seconds,
        )
        for extent, dropped in extents
    )
