"""Signed requests: HTTP message signatures (RFC 9421) with Ed25519 over method, address, body and conditions.

method + target URI + content digest [+ idempotency key] [+ if-match] + (created, nonce, keyid) -> base -> Ed25519

One form is taken and no other: exactly these components, in this order, the last two where the request has such a
header; `created`, `keyid` and `nonce` each once, and a SHA-256 of the body (RFC 9530), the empty one included. What is
covered is thereby never a choice of the sender, and nobody in between adds, changes or removes a condition.
"""

import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from msgspec import Struct

from assay.identity.errors import IdentityError
from assay.kernel.ids import KeyId, parse_key_id
from assay.kernel.instant import Instant
from assay.kernel.signature import verify_ed25519

CONTENT_DIGEST = "content-digest"
SIGNATURE = "signature"
SIGNATURE_INPUT = "signature-input"
NONCE_BYTES = 16
# How far `created` may be from our clock, either way; a nonce is remembered until nothing signed with it is fresh.
REQUEST_SKEW = timedelta(seconds=300)
_LABEL = "assay"
# Headers that change what a request does; each is covered where the request has it.
CONDITIONS = ("idempotency-key", "if-match")
_NAMES = ("@method", "@target-uri", CONTENT_DIGEST)
_INPUT = re.compile(r"([a-z*][a-z0-9_.*-]{0,31})=((\([^()]*\))((?:;[a-z]+=(?:[0-9]+|\"[!#-~]*\"))+))", re.ASCII)
_PARAMETER = re.compile(r";([a-z]+)=(?:([0-9]{1,11})|\"([!#-~]{1,200})\")", re.ASCII)
_NONCE = re.compile(r"[A-Za-z0-9_-]{16,128}", re.ASCII)
_METHOD = re.compile(r"[A-Z]{1,16}", re.ASCII)
_ALGORITHM = "ed25519"
_KNOWN = frozenset({"created", "keyid", "nonce", "alg"})


class SignatureInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `Signature-Input` says; `text` is its value for the signature base, exactly as received."""

    label: str
    text: str
    created: int
    nonce: str
    key_id: KeyId

    @property
    def created_at(self) -> Instant:
        return Instant(datetime.fromtimestamp(self.created, UTC))


class SignedRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A signature and everything that it is about, as received; nothing is verified yet."""

    method: str
    target_uri: str
    content_digest: str
    input: SignatureInput
    signature: bytes
    conditions: tuple[tuple[str, str], ...] = ()


def make_nonce(entropy: bytes) -> str:
    return entropy.hex()


def render_content_digest(body: bytes) -> str:
    """`Content-Digest` of a body (RFC 9530)."""
    return f"sha-256=:{b64encode(sha256(body).digest()).decode()}:"


def has_content_digest(digest: str, body: bytes) -> bool:
    return hmac.compare_digest(digest.encode(), render_content_digest(body).encode())


def signature_base(components: Iterable[tuple[str, str]], parameters: str) -> bytes:
    """RFC 9421, 2.5: one line for each component, then what the signature says of itself."""
    lines = [f'"{name}": {value}' for name, value in components]
    return "\n".join([*lines, f'"@signature-params": {parameters}']).encode()


def sign_request(
    sign: Callable[[bytes], bytes],
    key_id: KeyId,
    *,
    method: str,
    target_uri: str,
    body: bytes,
    nonce: str,
    at: Instant,
    headers: Mapping[str, str] | None = None,
) -> Mapping[str, str]:
    """The three headers to send; `sign` is Ed25519 with the registered key, `nonce` is used for no other request.

    `headers` are those of the request, by lower-case name: its conditions are covered.
    """
    digest, conditions = render_content_digest(body), _conditions(headers or {})
    covered = _covered(conditions)
    text = f'{covered};created={int(at.timestamp())};keyid="{key_id}";nonce="{nonce}";alg="{_ALGORITHM}"'
    signature = sign(_base(method.upper(), target_uri, digest, conditions, text))
    return {
        CONTENT_DIGEST: digest,
        SIGNATURE_INPUT: f"{_LABEL}={text}",
        SIGNATURE: f"{_LABEL}=:{b64encode(signature).decode()}:",
    }


def parse_signed_request(method: str, target_uri: str, headers: Mapping[str, str]) -> SignedRequest:
    """The headers of one request, or `identity.signature_form`; header names are lower-case."""
    conditions = _conditions(headers)
    given = _parse_input(headers.get(SIGNATURE_INPUT, ""), _covered(conditions))
    digest = headers.get(CONTENT_DIGEST, "")
    texts = (target_uri, digest, *(value for _, value in conditions))
    # A line feed in any component would let one line of the base pass for two.
    if not (_METHOD.fullmatch(method) and digest and all(text.isprintable() for text in texts)):
        raise IdentityError.signature_form("expected a method, an address and `Content-Digest` of one line each")
    return SignedRequest(
        method=method,
        target_uri=target_uri,
        content_digest=digest,
        input=given,
        signature=_parse_signature(headers.get(SIGNATURE, ""), given.label),
        conditions=conditions,
    )


def verify_signed_request(request: SignedRequest, public_key: bytes) -> None:
    """Raise unless the key signed exactly this method, address, digest, conditions and parameters."""
    base = _base(request.method, request.target_uri, request.content_digest, request.conditions, request.input.text)
    verify_ed25519(public_key, base, request.signature)


def verify_fresh(request: SignedRequest, *, at: Instant) -> None:
    """Raise unless it was signed just now, by our clock."""
    if abs(at - request.input.created_at) > REQUEST_SKEW:
        expected = f"expected a request signed within {int(REQUEST_SKEW.total_seconds())} s of now"
        raise IdentityError.stale_request(
            f"{expected}, got one of {abs(int((at - request.input.created_at).total_seconds()))} s"
        )


def _conditions(headers: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The headers that change what the request does, without the space around their values (RFC 9421, 2.1)."""
    return tuple((name, headers[name].strip()) for name in CONDITIONS if name in headers)


def _covered(conditions: Iterable[tuple[str, str]]) -> str:
    names = [*_NAMES, *(name for name, _ in conditions)]
    quoted = " ".join(f'"{name}"' for name in names)
    return f"({quoted})"


def _base(method: str, target_uri: str, digest: str, conditions: Iterable[tuple[str, str]], parameters: str) -> bytes:
    components = (("@method", method), ("@target-uri", target_uri), (CONTENT_DIGEST, digest), *conditions)
    return signature_base(components, parameters)


def _parse_input(header: str, covered: str) -> SignatureInput:
    match = _INPUT.fullmatch(header)
    if match is None or match[3] != covered:
        raise IdentityError.signature_form(f"expected `label={covered};created=…;keyid=…;nonce=…` and one signature")
    found = [(name, number or text) for name, number, text in _PARAMETER.findall(match[4])]
    given = dict(found)
    is_whole = "".join(part.group() for part in _PARAMETER.finditer(match[4])) == match[4]
    if not is_whole or len(given) != len(found) or not {"created", "keyid", "nonce"} <= given.keys() <= _KNOWN:
        raise IdentityError.signature_form("expected `created`, `keyid` and `nonce` once each, and `alg` if at all")
    if given.get("alg", _ALGORITHM) != _ALGORITHM or _NONCE.fullmatch(given["nonce"]) is None:
        raise IdentityError.signature_form(f"expected `alg` {_ALGORITHM} and a nonce `{_NONCE.pattern}`")
    if not given["created"].isdigit():
        raise IdentityError.signature_form("expected `created` as a whole number of seconds")
    key_id = parse_key_id(given["keyid"])
    return SignatureInput(
        label=match[1], text=match[2], created=int(given["created"]), nonce=given["nonce"], key_id=key_id
    )


def _parse_signature(header: str, label: str) -> bytes:
    start, end = f"{label}=:", ":"
    if not (header.startswith(start) and header.endswith(end)):
        raise IdentityError.signature_form(f"expected `Signature: {label}=:…:` and no other")
    try:
        return b64decode(header[len(start) : -len(end)], validate=True)
    except ValueError as error:
        raise IdentityError.signature_form("expected the signature in base64") from error
