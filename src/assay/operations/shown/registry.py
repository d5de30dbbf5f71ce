"""Services and their keys as text."""

from collections.abc import Mapping

from assay.flows.registry.service_keys import KnownKey
from assay.flows.registry.services import FoundServices
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
