"""What the rules do not cover, how often the verifier agrees with the model, what windows look back at (SKI 9.2)."""

from typing import Annotated, NamedTuple, TypeAlias

from msgspec import Meta

from assay.flows.request import Option, Page, Paged, Request, cut_named
from assay.flows.tools import Tools
from assay.flows.verdicts.graphs_in_use import JudgedGraphs
from assay.flows.verdicts.verdict_entry import judged_entry
from assay.identity.caller import Caller
from assay.kernel.ids import TenantId
from assay.ports.database import Unit
from assay.ports.graph_store import GraphActivation
from assay.verdicts.agreement import Canary, measure_agreement
from assay.verdicts.cover import CoverageEntry, register_mapped, register_unmapped
from assay.verdicts.docket import UNRULED
from assay.verdicts.envelope import VerifierStatus
from assay.verdicts.telemetry import Telemetry, parse_telemetry
from assay.verdicts.window_fact import BufferState

_AT_ONCE = 500


class _Gap(NamedTuple):
    """A record that no rule is about."""

    sequence_number: int
    telemetry: Telemetry


_Event: TypeAlias = _Gap | GraphActivation


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
    entries = [
        entry
        for entry in compute_coverage(tools, caller.tenant_id).values()
        if not (request.open and entry.mapped_by is not None) and request.subject in (None, entry.subject)
    ]
    by_name = sorted(entries, key=lambda entry: entry.subject)
    return cut_named("coverage", by_name, request.cursor, request.limit, lambda entry: entry.subject)


def compute_coverage(tools: Tools, tenant_id: TenantId) -> dict[str, CoverageEntry]:
    """The Coverage Register by subject, from the verdicts and activations in the order of the ledger.

    What earlier calls in this process went through is not read again.
    """
    shelf = tools.gaps
    with shelf.turn:
        through, register = shelf.known.get(tenant_id, (0, {}))
        head, events = tools.database.read(lambda unit: _events_after(unit, tenant_id, through))
        graphs, register = JudgedGraphs(tools, tenant_id, in_use=tools.graphs), dict(register)
        for event in events:
            _apply(event, register, graphs)
        shelf.known[tenant_id] = head, register
        return register


def _events_after(unit: Unit, tenant_id: TenantId, through: int) -> tuple[int, list[_Event]]:
    """Unmapped records and activations after an entry, in order, and the entry up to which that is all of them."""
    before: int | None = None
    events: list[_Event] = [one for one in unit.graphs.activations(tenant_id) if one.sequence_number > through]
    while rows := unit.verdicts.of_rule(tenant_id, UNRULED, after=through, before=before, limit=_AT_ONCE):
        entries = unit.verdicts.entries(tenant_id, (row.sequence_number for row in rows))
        judged = [judged_entry(one) for one in entries]
        events += [
            _Gap(one.entry.sequence_number, parse_telemetry(one.telemetry)) for one in judged if not one.is_mapped
        ]
        before = rows[-1].sequence_number
    return unit.ledger.head(tenant_id).sequence_number, sorted(events, key=lambda event: event.sequence_number)


def _apply(event: _Event, register: dict[str, CoverageEntry], graphs: JudgedGraphs) -> None:
    if isinstance(event, _Gap):
        telemetry = event.telemetry
        register[telemetry.subject] = register_unmapped(register.get(telemetry.subject), telemetry)
        return
    gaps = [entry for entry in register.values() if entry.mapped_by is None]
    graph = graphs.find(event.content_hash) if gaps else None
    for entry in gaps:
        if graph is not None and graph.index.find_subject(entry.subject) is not None:
            register[entry.subject] = register_mapped(entry, event.content_hash)


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
