"""Which proof the headers of a request name: the same rules at every door, whatever serves it.

values of the headers -> the one credential, or none; the headers of a signature, each once; the address that was asked
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.flows.errors.identity import NotSignedInError
from assay.identity.signed_request import CONDITIONS, CONTENT_DIGEST, SIGNATURE, SIGNATURE_INPUT

# Whatever says who asks. A browser keeps answers too: the next person there must not be shown what the last one saw.
VARY = "authorization, cookie, signature-input, x-api-key"

_BEARER = "bearer "
_LONGEST_CREDENTIAL = 512


def credential_in(values: Callable[[str], Sequence[str]]) -> str | None:
    """The text of the one header that names a credential; None where there is no such header."""
    schemes, keys = values("authorization"), values("x-api-key")
    if not schemes and not keys:
        return None
    # Of two, whoever stands before us may have looked at the other one.
    if len(schemes) + len(keys) > 1:
        raise NotSignedInError("expected one of `Authorization: Bearer …` and `x-api-key`, and once")
    if schemes and not schemes[0].lower().startswith(_BEARER):
        raise NotSignedInError("expected `Authorization: Bearer …`, got another scheme")
    key = keys[0] if keys else schemes[0][len(_BEARER) :].strip()
    if not key or len(key) > _LONGEST_CREDENTIAL:
        raise NotSignedInError("expected an API key or a session token")
    return key


def signature_in(values: Callable[[str], Sequence[str]]) -> dict[str, str]:
    """The headers of a signature that are there, by name, and those that it has to cover."""
    found = {name: values(name) for name in (CONTENT_DIGEST, SIGNATURE, SIGNATURE_INPUT, *CONDITIONS)}
    if any(len(texts) > 1 for texts in found.values()):
        raise NotSignedInError("expected each header of the signature once")
    return {name: texts[0] for name, texts in found.items() if texts}


def asked_path(scope: Mapping[str, Any]) -> str:
    """Path and query as they were asked for, before anything is decoded."""
    raw = scope.get("raw_path") or str(scope["path"]).encode()
    path, query = raw.split(b"?")[0].decode("latin-1"), scope.get("query_string", b"").decode("latin-1")
    return str(path) + (f"?{query}" if query else "")
