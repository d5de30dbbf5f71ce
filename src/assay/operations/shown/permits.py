"""Permits and mandates as text."""

import msgspec

from assay.flows.permits.gateway import GatewayRelease, GatewayTableView
from assay.flows.permits.mandates import MandateAsked, MandatePreview, MandateProposal, MandateView, PreviewedCall
from assay.flows.permits.permits import PermitView, SignedPermit
from assay.kernel.instant import render_instant
from assay.operations.kinds import Column
from assay.operations.shown.text import columns, plain
from assay.permits.mandate import ArgumentLimit, MandateTerms
from assay.permits.permit import Permit, PermitState

COLUMNS: tuple[Column, ...] = (
    ("permit", lambda view: view.permit.permit_id),
    ("state", lambda view: view.state.value),
    ("call", lambda view: plain(f"{view.permit.tool} at {view.permit.audience}")),
    ("agent", lambda view: view.permit.agent),
    ("issued", lambda view: render_instant(view.permit.issued_at)),
)
MANDATE_COLUMNS: tuple[Column, ...] = (
    ("mandate", lambda view: view.mandate_id),
    ("live", lambda view: "yes" if view.is_live else plain("; ".join(view.reasons))),
    ("agent", lambda view: view.terms.agent),
    ("tool", lambda view: plain(f"{view.terms.tool} at {view.terms.audience}")),
    ("used", lambda view: f"{view.used_count} of {view.terms.count}"),
    ("expires", lambda view: render_instant(view.terms.expires_at)),
)
_MOST_CALLS = 5
_MEANING = {
    PermitState.ISSUED: "can be claimed once",
    PermitState.EXPIRED: "expired, and was never claimed",
    PermitState.REVOKED: "revoked before it was claimed",
    PermitState.CLAIMED: "claimed; its effect is not reported yet",
    PermitState.DONE: "done",
    PermitState.FAILED: "nothing happened",
    PermitState.UNKNOWN: "nobody knows whether it took place: a reviewer reconciles it on the desk",
}


def issued_text(value: SignedPermit) -> str:
    return f"{columns(_facts(value.permit, value.state))}\njwt\n{value.jwt}"


def permit_text(view: PermitView) -> str:
    rows = _facts(view.permit, view.state)
    if view.claimed_at is not None:
        rows.append(("claimed", f"{render_instant(view.claimed_at)} by {view.claimed_by}"))
    if view.effect is not None:
        rows.append(("reported", plain(f"{view.effect} {view.detail}".rstrip())))
    if view.result_hash is not None:
        rows.append(("result", view.result_hash))
    if view.ended_by is not None:
        rows.append(("ended", plain(f"{view.reconciled or 'revoked'} by {view.ended_by}: {view.reason}")))
    return columns(rows)


def _facts(permit: Permit, state: PermitState) -> list[tuple[str, ...]]:
    return [
        ("permit", permit.permit_id),
        ("state", f"{state} ({_MEANING[state]})"),
        ("tool", plain(permit.tool)),
        ("audience", plain(permit.audience)),
        ("agent", permit.agent),
        ("arguments", permit.arguments_hash),
        ("bundle", permit.bundle_hash),
        ("issued", render_instant(permit.issued_at)),
        ("expires", render_instant(permit.expires_at)),
    ]


def mandate_text(view: MandateView) -> str:
    live = "yes" if view.is_live else f"no: {'; '.join(view.reasons)}"
    budget = view.terms.budget
    used = f"{view.used_count} of {view.terms.count}"
    rows = [
        ("mandate", view.mandate_id),
        ("live", plain(live)),
        *_terms(view.terms),
        ("used", used if budget is None else f"{used}, {view.used_total} of {budget.total} ({plain(budget.argument)})"),
        ("signed", f"{render_instant(view.signed_at)} by {', '.join(view.signed_by)}"),
    ]
    if view.ended_at is not None:
        rows.append(("revoked", plain(f"{render_instant(view.ended_at)} by {view.ended_by}: {view.reason}")))
    return columns(rows)


def proposal_text(made: MandateProposal) -> str:
    rows = [("mandate", made.mandate_id), ("ticket", made.ticket_id), *_asked(made.asked)]
    return f"{columns(rows)}\n{preview_text(made.asked.preview)}"


def mandate_facts(shown: str) -> list[tuple[str, str]]:
    """What a ticket asks people to sign, in names and values; `shown` is the text that their signature covers."""
    asked = msgspec.json.decode(shown, type=MandateAsked)
    preview = asked.preview
    allowed = f"{preview.allowed} of {preview.calls} calls, {preview.amount} in all"
    refused = [("Refused at the time, allowed by this", str(preview.refused_then))] if preview.refused_then else []
    calls = [("Would have been allowed", _previewed(call)) for call in preview.allowed_calls[:_MOST_CALLS]]
    rows = ((name.capitalize(), value) for name, value in _asked(asked))
    return [*rows, (f"Last {(preview.until - preview.since).days} days", allowed), *refused, *calls]


def _asked(asked: MandateAsked) -> list[tuple[str, str]]:
    who = ", ".join(f"{seat.people} of {seat.role}" for seat in asked.seats)
    rows = [*_terms(asked.terms), ("to sign", f"{who}; {asked.signatures} signatures in all")]
    return [*rows, ("four eyes", plain("; ".join(asked.why_two)))] if asked.why_two else rows


def preview_text(preview: MandatePreview) -> str:
    since = render_instant(preview.since)
    told = f"since {since} it would have allowed {preview.allowed} of {preview.calls} calls, {preview.amount} in all"
    lines = [told]
    if preview.refused_then:
        lines.append(f"{preview.refused_then} of the allowed calls were refused at the time")
    if not preview.is_whole:
        lines.append("only the first bundles of that time were looked at")
    lines += [f"allowed  {_previewed(one)}" for one in preview.allowed_calls]
    lines += [f"asked    {_previewed(one)}: {plain('; '.join(one.reasons))}" for one in preview.other_calls]
    return "\n".join(lines)


def _previewed(call: PreviewedCall) -> str:
    return f"{render_instant(call.received_at)}  {call.decision or 'undecided'}  {plain(call.statement)}"


def _terms(terms: MandateTerms) -> list[tuple[str, str]]:
    budget = [] if terms.budget is None else [("budget", plain(f"{terms.budget.argument}: {terms.budget.total}"))]
    return [
        ("agent", terms.agent),
        ("tool", plain(f"{terms.tool} at {terms.audience}")),
        ("tier", f"up to {terms.tier}"),
        ("purpose", plain(terms.purpose)),
        *(("limit", plain(_limit(limit))) for limit in terms.limits),
        *budget,
        ("count", str(terms.count)),
        ("from", render_instant(terms.starts_at)),
        ("until", render_instant(terms.expires_at)),
    ]


def _limit(limit: ArgumentLimit) -> str:
    if limit.one_of is not None:
        what = f"one of {', '.join(map(str, limit.one_of))}"
    elif limit.pattern is not None:
        what = f"like {limit.pattern}"
    else:
        what = f"{limit.minimum or 'any'} to {limit.maximum or 'any'}"
    return f"{limit.argument}: {what}{', may be left out' if limit.is_optional else ''}"


def release_text(value: GatewayRelease) -> str:
    lines = [] if value.table is None else [table_text(value.table)]
    if value.waiting is not None:
        lines.append(f"waits for an administrator: ticket {value.waiting}")
    return "\n".join(lines)


def table_text(value: GatewayTableView) -> str:
    approved = {one.tool: one.definition_hash for one in value.approved}
    lines = [
        (plain(row.tool), row.tier.value, approved.get(row.tool, row.definition_hash)[:19], plain(row.says))
        for row in value.rows
    ]
    head = f"version {value.version}, released by {value.released_by} at {render_instant(value.released_at)}"
    return "\n".join([head, columns([("tool", "tier", "definition", "says"), *lines])])
