"""Ed25519 keys on a PKCS#11 token: a smart card, a hardware module, or SoftHSM.

Pkcs11Token.open (one login per process) -> find_signer | create_signer -> Pkcs11Signer -> sign

A PKCS#11 session does one thing at a time and a login holds for the whole process, so a token has one session and
one lock, and its signers share both. The binding is the extra `[pkcs11]` and is imported when a token is opened.
"""

from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Protocol, Self, cast

from assay.adapters.kms.errors import KmsError
from assay.kernel.errors import Error, SignatureError
from assay.kernel.ids import KeyId
from assay.kernel.key import SigningMethod, key_id_of
from assay.kernel.signature import PUBLIC_KEY_SIZE, verify_ed25519

if TYPE_CHECKING:
    from pkcs11 import Mechanism, Object, ObjectClass, PublicKey, Session, Token

# DER of the object identifier 1.3.101.112 (RFC 8410), which names the curve in CKA_EC_PARAMS.
_ED25519_PARAMS = bytes.fromhex("06032b6570")
# Tokens disagree about CKA_EC_POINT: a DER octet string, a DER bit string, or the bare 32 bytes.
_POINT_PREFIXES = (b"\x04\x20", b"\x03\x21\x00", b"")


class _SigningKey(Protocol):
    def sign(self, data: bytes, *, mechanism: "Mechanism") -> bytes: ...


class Pkcs11Token:
    """An open token; close it, or use it in a `with`, and every signer taken from it stops signing."""

    def __init__(self, session: "Session", label: str) -> None:
        self._session: Session | None = session
        self._label = label
        self._lock = Lock()

    @classmethod
    def open(cls, module_path: Path, *, token_label: str, pin: str) -> Self:
        """Log in to the token with this label; the PIN is not kept."""
        token = _get_token(module_path, token_label)
        return cls(_login(token, token_label, pin), token_label)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Log out; closing twice, or after the token went away, is harmless."""
        from pkcs11.exceptions import PKCS11Error  # noqa: PLC0415 - an extra, imported when used

        with self._lock:
            session, self._session = self._session, None
            if session is not None:
                with suppress(PKCS11Error):
                    session.close()

    def find_signer(self, key_label: str) -> "Pkcs11Signer | None":
        """The signer of the key pair with this label, or None; a pair that is not plain Ed25519 is refused."""
        from pkcs11 import ObjectClass  # noqa: PLC0415 - an extra, imported when used
        from pkcs11.exceptions import PKCS11Error  # noqa: PLC0415 - likewise

        with self._lock:
            try:
                private = self._find_key(ObjectClass.PRIVATE_KEY, key_label)
                public = self._find_key(ObjectClass.PUBLIC_KEY, key_label)
                if private is None or public is None:
                    return None
                raw = _raw_public_key(cast("PublicKey", public), key_label)
            except PKCS11Error as error:
                raise self._session_error(error) from error
        # The binding adds what a key can do to its class at run time, beyond what its types say.
        return Pkcs11Signer(self, cast("_SigningKey", private), raw)

    def get_signer(self, key_label: str) -> "Pkcs11Signer":
        signer = self.find_signer(key_label)
        if signer is None:
            raise KmsError.kms_key(f"expected an Ed25519 key pair `{key_label}` on `{self._label}`, got none")
        return signer

    def create_signer(self, key_label: str) -> "Pkcs11Signer":
        """Generate a key pair on the token, its private half never extractable; an existing label is refused."""
        if self.find_signer(key_label) is not None:
            raise KmsError.kms_exists(f"expected no key pair `{key_label}` on `{self._label}`, got one")
        with self._lock:
            self._generate(key_label)
        return self.get_signer(key_label)

    def sign(self, private_key: "_SigningKey", message: bytes) -> bytes:
        """For signers of this token: the bytes the token returned, not yet checked."""
        from pkcs11 import Mechanism  # noqa: PLC0415 - an extra, imported when used
        from pkcs11.exceptions import PKCS11Error  # noqa: PLC0415 - likewise

        with self._lock:
            self._get_session()
            try:
                return private_key.sign(message, mechanism=Mechanism.EDDSA)
            except PKCS11Error as error:
                raise self._session_error(error) from error

    def _find_key(self, object_class: "ObjectClass", label: str) -> "Object | None":
        from pkcs11 import Attribute, KeyType  # noqa: PLC0415 - an extra, imported when used

        wanted = {Attribute.CLASS: object_class, Attribute.KEY_TYPE: KeyType.EC_EDWARDS, Attribute.LABEL: label}
        # Read to the end: a search that is left open holds the session's lock and blocks whatever comes next.
        found = list(self._get_session().get_objects(wanted))
        if len(found) > 1:
            raise KmsError.kms_key(f"expected one key pair `{label}` on `{self._label}`, got {len(found)}")
        return found[0] if found else None

    def _generate(self, key_label: str) -> None:
        from pkcs11 import Attribute, KeyType, Mechanism  # noqa: PLC0415 - an extra, imported when used
        from pkcs11.exceptions import PKCS11Error  # noqa: PLC0415 - likewise

        try:
            curve = self._get_session().create_domain_parameters(
                KeyType.EC_EDWARDS, {Attribute.EC_PARAMS: _ED25519_PARAMS}, local=True
            )
            curve.generate_keypair(
                mechanism=Mechanism.EC_EDWARDS_KEY_PAIR_GEN,
                store=True,
                label=key_label,
                id=key_label.encode(),
                private_template={Attribute.SENSITIVE: True, Attribute.EXTRACTABLE: False},
            )
        except PKCS11Error as error:
            raise KmsError(f"`{self._label}` cannot generate an Ed25519 key: {_name(error)}") from error

    def _get_session(self) -> "Session":
        if self._session is None:
            raise KmsError.kms_session(f"expected an open session on `{self._label}`, got a closed one")
        return self._session

    def _session_error(self, error: Exception) -> Error:
        return KmsError.kms_session(f"`{self._label}` does not answer any more: {_name(error)}")


class Pkcs11Signer:
    """Signs on the token; every signature is verified before it is handed out. Safe to share between threads."""

    def __init__(self, token: Pkcs11Token, private_key: "_SigningKey", public_key: bytes) -> None:
        self._token = token
        self._private_key = private_key
        self._public_key = public_key
        self._key_id = key_id_of(public_key)

    def __repr__(self) -> str:
        return f"Pkcs11Signer({self._key_id!r})"

    @property
    def key_id(self) -> KeyId:
        return self._key_id

    @property
    def method(self) -> SigningMethod:
        return SigningMethod.ED25519

    @property
    def public_key(self) -> bytes:
        return self._public_key

    def sign(self, message: bytes) -> bytes:
        signature = self._token.sign(self._private_key, message)
        try:
            verify_ed25519(self._public_key, message, signature)
        except SignatureError as error:
            raise KmsError.kms_signature(f"the token's signature does not verify under `{self._key_id}`") from error
        return signature


def _get_token(module_path: Path, label: str) -> "Token":
    try:
        import pkcs11  # noqa: PLC0415 - an extra, imported when used
    except ImportError as error:
        raise KmsError.kms_unavailable("expected the extra `assay[pkcs11]` to be installed, got no binding") from error
    if not module_path.is_file():
        raise KmsError.kms_unavailable(f"expected a PKCS#11 module at `{module_path}`, got no file")
    try:
        return pkcs11.lib(str(module_path)).get_token(token_label=label)
    except (pkcs11.exceptions.NoSuchToken, pkcs11.exceptions.MultipleTokensReturned) as error:
        raise KmsError.kms_token(f"expected one token labelled `{label}`, got {_name(error)}") from error
    except RuntimeError as error:
        # The binding's own errors are RuntimeErrors, and so is its failure to load a library.
        raise KmsError.kms_unavailable(f"`{module_path}` does not work as a PKCS#11 module: {_name(error)}") from error


def _login(token: "Token", label: str, pin: str) -> "Session":
    from pkcs11 import exceptions  # noqa: PLC0415 - an extra, imported when used

    try:
        return token.open(rw=True, user_pin=pin)
    except exceptions.UserAlreadyLoggedIn as error:
        raise KmsError.kms_busy(f"`{label}` is open in this process already; take further signers from it") from error
    except (
        exceptions.PinIncorrect,
        exceptions.PinInvalid,
        exceptions.PinLenRange,
        exceptions.PinLocked,
        exceptions.PinExpired,
        exceptions.UserPinNotInitialized,
    ) as error:
        raise KmsError.kms_login(f"`{label}` refuses the PIN: {_name(error)}") from error
    except exceptions.PKCS11Error as error:
        raise KmsError.kms_session(f"`{label}` cannot be opened: {_name(error)}") from error


def _raw_public_key(public_key: "PublicKey", label: str) -> bytes:
    from pkcs11 import Attribute  # noqa: PLC0415 - an extra, imported when used

    point = bytes(public_key[Attribute.EC_POINT])
    for prefix in _POINT_PREFIXES:
        if point.startswith(prefix) and len(point) == len(prefix) + PUBLIC_KEY_SIZE:
            return point[len(prefix) :]
    raise KmsError.kms_key(f"expected `{label}` to be a key on edwards25519, got a point of {len(point)} bytes")


def _name(error: Exception) -> str:
    return type(error).__name__
