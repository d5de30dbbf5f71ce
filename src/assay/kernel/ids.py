"""Names with a form of their own: a tenant, a principal, a key, a ticket. Never a bare `str`."""

import re
from typing import NewType

from assay.kernel.errors import TypeFormError

TenantId = NewType("TenantId", str)
# `prefix:name`, as in Kaori: `user:amira`, `sensor:042`, `ai:bouncer_v1`.
PrincipalId = NewType("PrincipalId", str)
# `sha256:` of the raw 32-byte public key.
KeyId = NewType("KeyId", str)
TicketId = NewType("TicketId", str)

_NAME = r"[a-z0-9][a-z0-9._-]{0,62}"
_TENANT = re.compile(_NAME, re.ASCII)
_PRINCIPAL = re.compile(rf"{_NAME}:{_NAME}", re.ASCII)
_KEY = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
_TICKET = re.compile(r"tkt_[0-9a-z]{26}", re.ASCII)


class MalformedIdError(TypeFormError):
    """An id does not have its form."""

    code = "form.id"


def parse_tenant_id(text: str) -> TenantId:
    _require(_TENANT, text, "a tenant: 1 to 63 of `a-z 0-9 . _ -`, starting with a letter or digit")
    return TenantId(text)


def parse_principal_id(text: str) -> PrincipalId:
    _require(_PRINCIPAL, text, "a principal: `prefix:name`, each of `a-z 0-9 . _ -`")
    return PrincipalId(text)


def parse_key_id(text: str) -> KeyId:
    _require(_KEY, text, "a key id: `sha256:` and 64 lower-case hex digits")
    return KeyId(text)


def parse_ticket_id(text: str) -> TicketId:
    _require(_TICKET, text, "a ticket: `tkt_` and 26 of `0-9 a-z`")
    return TicketId(text)


def _require(form: re.Pattern[str], text: str, expected: str) -> None:
    if form.fullmatch(text) is None:
        raise MalformedIdError(f"expected {expected}, got `{text[:80]}`")
