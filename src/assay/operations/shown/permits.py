"""Permits as text."""

from assay.flows.permits.permits import PermitView, SignedPermit
from assay.kernel.instant import render_instant
from assay.operations.kinds import Column
from assay.operations.shown.text import columns, plain
from assay.permits.permit import Permit, PermitState

COLUMNS: tuple[Column, ...] = (
    ("permit", lambda view: view.permit.permit_id),
    ("state", lambda view: view.state.value),
    ("call", lambda view: plain(f"{view.permit.tool} at {view.permit.audience}")),
    ("agent", lambda view: view.permit.agent),
    ("issued", lambda view: render_instant(view.permit.issued_at)),
)
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
