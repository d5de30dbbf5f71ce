"""A signed policy: YAML that anybody can read, and two lines of comment that say whose key vouches for it.

text = document, then the line `# assay-policy-key: HEX`, then the line `# assay-policy-signature: HEX`
The signature is over exactly the bytes of the document; to a reader of YAML the two lines are comments.
"""

import re

from msgspec import Struct

from assay.claims.errors import ClaimsError
from assay.kernel.digest import digest_of
from assay.kernel.ids import KeyId
from assay.kernel.key import key_id_of
from assay.kernel.signature import SignedKind, signing_message, verify_ed25519

_LINES = re.compile(r"# assay-policy-key: ([0-9a-f]{64})\n# assay-policy-signature: ([0-9a-f]{128})\n?\Z", re.ASCII)
_MARK = "# assay-policy-"


class SignedPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`public_key` and `signature` are hex, and both None where nobody signed."""

    document: str
    public_key: str | None = None
    signature: str | None = None

    @property
    def key_id(self) -> KeyId | None:
        return None if self.public_key is None else key_id_of(bytes.fromhex(self.public_key))


def policy_message(document: str) -> bytes:
    """The bytes to sign."""
    return signing_message(SignedKind.CLAIMS_POLICY, digest_of(document.encode()).encode())


def render_signed_policy(document: str, *, public_key: bytes, signature: bytes) -> str:
    whole = document if document.endswith("\n") else f"{document}\n"
    return f"{whole}{_MARK}key: {public_key.hex()}\n{_MARK}signature: {signature.hex()}\n"


def split_signed_policy(text: str) -> SignedPolicy:
    """The document and its signature; a mark of ours that is not a whole signature at the end is refused."""
    found = _LINES.search(text)
    document = text if found is None else text[: found.start()]
    if any(line.startswith(_MARK) for line in document.splitlines()):
        raise ClaimsError.policy_signature(f"expected one signature, as the last two lines, got `{_MARK}` elsewhere")
    if found is None:
        return SignedPolicy(document=document)
    return SignedPolicy(document=document, public_key=found.group(1), signature=found.group(2))


def verify_signed_policy(signed: SignedPolicy) -> None:
    """Raise unless the key in it signed it; whether that key may is the caller's to ask."""
    if signed.public_key is None or signed.signature is None:
        raise ClaimsError.policy_signature("expected a signed policy, got one without a signature")
    verify_ed25519(bytes.fromhex(signed.public_key), policy_message(signed.document), bytes.fromhex(signed.signature))
