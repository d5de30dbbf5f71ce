"""What the rules do not cover, how often the verifier agrees with the model, what windows look back at (SKI 9.2)."""

from typing import Annotated

from msgspec import Meta

from assay.flows.request import Option, Page, Paged, Request, cut_named
from assay.flows.tools import Tools
from assay.flows.verdicts.verdict_entry import read_coverage
from assay.identity.caller import Caller
from assay.kernel.ids import TenantId
from assay.verdicts.agreement import Canary, measure_agreement
from assay.verdicts.cover import CoverageEntry
from assay.verdicts.envelope import VerifierStatus
from assay.verdicts.window_fact import BufferState


class ListCoverage(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    open: Annotated[bool, Meta(description="Leave out subjects that a later graph covers."), Option(flag="--gaps")] = (
        False
    )
    subject: Annotated[str | None, Meta(description="Only this subject."), Option(metavar="NAME")] = None


class ShowAgreement(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing has to be said."""


class ListBuffers(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    subject: Annotated[
        str | None, Meta(description="Only this subject."), Option(form="argument", metavar="[SUBJECT]")
    ] = None


def coverage(tools: Tools, caller: Caller, request: ListCoverage) -> Page[CoverageEntry]:
    """List subjects that received NULL_UNMAPPED, by name; `mapped_by` is a later graph that covers the subject."""
    rows = tools.database.read(lambda unit: unit.verdicts.coverage(caller.tenant_id))
    entries = [
        entry
        for entry in map(read_coverage, rows)
        if not (request.open and entry.mapped_by is not None) and request.subject in (None, entry.subject)
    ]
    by_name = sorted(entries, key=lambda entry: entry.subject)
    return cut_named("coverage", by_name, request.cursor, request.limit, lambda entry: entry.subject)


def agreement(tools: Tools, caller: Caller, request: ShowAgreement) -> Canary:  # noqa: ARG001 - nothing is asked
    """Show how often the verifier agreed with the model over the latest verdicts for which a model was asked."""
    return check_agreement(tools, caller.tenant_id)


def check_agreement(tools: Tools, tenant_id: TenantId) -> Canary:
    """The agreement rate of a tenant; the window survives a restart."""
    window = tools.ski.agreement_window
    statuses = tools.database.read(lambda unit: unit.verdicts.statuses(tenant_id, window))
    return measure_agreement(
        [VerifierStatus(status) for status in statuses], window_size=window, threshold=tools.ski.agreement_threshold
    )


def telemetry_buffers(tools: Tools, caller: Caller, request: ListBuffers) -> Page[BufferState]:
    """List how many records of each subject are kept for rules that look back, and from when to when.

    A window that reaches back before what is kept is in doubt, and its verdict DISCRETIONARY.
    """
    found = sorted(show_buffers(tools, caller.tenant_id, request.subject), key=lambda one: one.subject)
    return cut_named("buffers", found, request.cursor, request.limit, lambda one: one.subject)


def show_buffers(tools: Tools, tenant_id: TenantId, subject: str | None = None) -> tuple[BufferState, ...]:
    """The telemetry buffer of each subject, or of one."""
    extents = tools.database.read(
        lambda unit: [
            (extent, unit.telemetry.dropped_until(tenant_id, extent.subject))
            for extent in unit.telemetry.extents(tenant_id)
            if subject in (None, extent.subject)
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
