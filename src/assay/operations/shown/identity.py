"""People, agents and services as text."""

from collections.abc import Sequence

from assay.flows.identity.api_keys import ApiKeyView
from assay.flows.identity.principals import AmendedPrincipal, NameErasure, PasswordSet, PrincipalView
from assay.identity.principal import Principal
from assay.kernel.ids import TicketId
from assay.kernel.instant import render_instant
from assay.operations.access import Why
from assay.operations.shown.text import columns


def principal_line(value: Principal) -> str:
    return f"{value.id} ({value.kind}, {', '.join(value.roles) or 'no role'})"


def waits(ticket_id: TicketId) -> str:
    return f"waiting for a second administrator: {ticket_id} (`assay review show {ticket_id}`)"


def principal_added(value: AmendedPrincipal) -> str:
    line = principal_line(value)
    return f"added {line}" if value.waiting is None else f"asked for {line}; {waits(value.waiting)}"


def principal_amended(value: AmendedPrincipal) -> str:
    line = principal_line(value)
    return f"version {value.version}: {line}" if value.waiting is None else f"asked for {line}; {waits(value.waiting)}"


def password_set(value: PasswordSet) -> str:
    if value.waiting is not None:
        return f"asked for a password of {value.principal_id}; {waits(value.waiting)}"
    return f"password of {value.principal_id} set"


def name_erased(value: NameErasure) -> str:
    numbers = ", ".join(map(str, value.sequence_numbers))
    later = "" if value.scrubbed else "; the bytes leave the database's files at its next clean-up"
    return f"erased the name of {value.principal_id} in entries {numbers}{later}"


def principal_text(view: PrincipalView) -> str:
    """A principal with its keys and every version."""
    known = view.principal
    facts = [
        ("id", known.id),
        ("name", "(erased)" if known.name is None else known.name),
        ("kind", known.kind.value),
        ("state", "active" if view.active else "disabled"),
        ("roles", ", ".join(known.roles) or "-"),
        ("trust mask", f"{known.trust_mask:#010x}"),
        ("action tier", str(known.action_tier)),
        ("risk ceiling", known.risk_ceiling.value),
        ("level floor", str(known.authenticity_level_floor)),
        ("public key", known.public_key or "-"),
        ("password", "set" if view.has_password else "-"),
    ]
    parts = [aligned(facts)]
    if view.api_keys:
        parts.append("keys\n" + aligned([_key_row(key) for key in view.api_keys]))
    if view.signing_keys:
        rows = [(key.key_id, "live" if key.live else "ended", ",".join(key.scopes)) for key in view.signing_keys]
        parts.append("signing keys\n" + aligned(rows))
    versions = [
        (f"v{old.version}", render_instant(old.recorded_at), old.recorded_by, principal_line(old))
        for old in view.history
    ]
    return "\n\n".join([*parts, "history\n" + aligned(versions)])


def aligned(rows: Sequence[tuple[str, ...]]) -> str:
    """Rows in aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines)


def _key_row(view: ApiKeyView) -> tuple[str, ...]:
    ends = [end for end in (view.revoked_at, view.expires_at) if end is not None]
    return (
        view.prefix,
        "live" if view.live else "ended",
        ",".join(view.scopes),
        render_instant(view.issued_at),
        render_instant(min(ends)) if ends else "-",
    )


def requirements_text(found: Why) -> str:
    """Each requirement in a line, and below what would change the answer."""
    rows = [("yes" if one.met else "no", one.name.value, one.reason) for one in found.requirements]
    remedies = [f"{one.name.value}: {one.remedy}" for one in found.requirements if one.remedy is not None]
    return "\n".join([columns(rows), *(["", "what would change it", *remedies] if remedies else [])])
