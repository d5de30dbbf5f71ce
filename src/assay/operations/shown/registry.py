"""Services and their keys as text."""

from collections.abc import Mapping

from assay.flows.registry.service_keys import KnownKey
from assay.flows.registry.services import FoundServices
from assay.flows.registry.switch import SwitchView
from assay.flows.request import Page
from assay.kernel.errors import Blame
from assay.kernel.instant import render_instant


def found_services(found: FoundServices) -> str:
    return "\n".join(found.services) or "no service can"


def blame_nobody(found: FoundServices) -> Blame | None:
    return None if found.services else Blame.ANSWER


def key_row(known: KnownKey) -> Mapping[str, str]:
    """A key with when it became known, or when and why it ended."""
    if known.revoked is None:
        return {"key": known.key.key_id, "since": render_instant(known.key.registered_at), "state": "known"}
    reason = " ".join(known.revoked.reason.split())
    return {
        "key": known.key.key_id,
        "since": render_instant(known.revoked.revoked_at),
        "state": f"revoked: {reason}",
    }


def blame_no_key(page: Page[KnownKey]) -> Blame | None:
    """No key of the service counts."""
    return Blame.ANSWER if all(known.revoked is not None for known in page.items) else None


def switch_text(view: SwitchView) -> str:
    """Whether the switch is fired, then every firing and restore in a line."""
    lines = [f"{view.service_id}: {'FIRED' if view.is_fired else 'armed'}, fired {view.episode} times"]
    for event in view.history:
        if event.fired is not None:
            lines.append(f"{render_instant(event.fired.fired_at)}  fired     {event.fired.reason}")
        elif event.restored is not None:
            by = ", ".join(event.restored.restored_by)
            lines.append(f"{render_instant(event.restored.restored_at)}  restored  by {by}")
    return "\n".join(lines)
