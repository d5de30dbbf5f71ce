"""Whose a credential is, remembered: a hint that spares a look, and proves nothing.

An id of a credential belongs to one principal for ever, so the hint cannot grow stale; whether the credential is valid
now is for the commit to find out.
"""

from collections.abc import Callable

from assay.kernel.ids import PrincipalId, TenantId

__all__ = ["Sender", "SenderShelf"]

Sender = tuple[TenantId, PrincipalId]
_MOST = 4096


class SenderShelf:
    """Senders by the part of their credential that is no secret; a full shelf begins anew."""

    def __init__(self) -> None:
        self._known: dict[str, Sender] = {}

    def get(self, credential: str, look: Callable[[], Sender]) -> Sender:
        """The one remembered, or what `look` finds; a credential that `look` refuses is not remembered."""
        name = credential.partition(".")[0]
        found = self._known.get(name)
        if found is None:
            found = look()
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[name] = found
        return found
