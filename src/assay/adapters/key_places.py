"""Where a node's private keys are: files in its folder, key pairs on tokens, or a shared secret in a file.

a place is `keys/ledger.key` (relative to the folder), `pkcs11:TOKEN/KEY`, or `hmac:keys/truth.hmac`
"""

from pathlib import Path
from typing import TYPE_CHECKING, Self

from assay.adapters.hmac_secret import load_secret_file
from assay.adapters.keyfile import create_key_file, load_key_file, public_path
from assay.kernel.errors import Blame, KeyUseError
from assay.kernel.ids import KeyId
from assay.kernel.key import key_id_of, parse_public_key
from assay.ports.signer import Signer

if TYPE_CHECKING:
    from assay.adapters.kms.pkcs11 import Pkcs11Token

TOKEN_PREFIX = "pkcs11:"  # noqa: S105 - how a place begins, not a secret
SECRET_PREFIX = "hmac:"  # noqa: S105 - how a place begins, not a secret


class SecretPlaceError(KeyUseError):
    """A shared secret is given by the operator: none is made for a node, and none vouches for its successor."""

    code = "key.secret_place"
    blame = Blame.USAGE


class KeyPlaces:
    """Opens each token once, when a key on it is first needed; closing logs out, and its keys stop signing."""

    def __init__(
        self, folder: Path, *, module: str | None = None, pin: str = "", passphrase: str | None = None
    ) -> None:
        self._folder = folder
        self._module = module
        self._pin = pin
        self._passphrase = passphrase
        self._tokens: dict[str, Pkcs11Token] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        while self._tokens:
            self._tokens.popitem()[1].close()

    def load(self, place: str) -> Signer:
        token = self._find_token(place)
        if token is not None:
            return token.get_signer(_label(place))
        if place.startswith(SECRET_PREFIX):
            return load_secret_file(self._path(place))
        return load_key_file(self._path(place), passphrase=self._passphrase)

    def create(self, place: str) -> Signer:
        """A new key there, under the passphrase that the node's keys have; an existing one is refused.

        So is the place of a shared secret: nobody could tell that the old one vouched for it.
        """
        if place.startswith(SECRET_PREFIX):
            raise SecretPlaceError(f"expected a place for a key pair, got the shared secret `{place[:200]}`")
        token = self._find_token(place)
        if token is not None:
            return token.create_signer(_label(place))
        return create_key_file(self._path(place), passphrase=self._passphrase)

    def next_place(self, place: str) -> str:
        """`keys/ledger.key` is followed by `keys/ledger-2.key`, that by `keys/ledger-3.key`; so on a token too."""
        number = 2
        while self._is_taken(following := _numbered(place, number)):
            number += 1
        return following

    def free_place(self, beside: str, name: str) -> str:
        """A place for another key beside one: `keys/truth.key` beside `keys/ledger.key`, or the next that is free."""
        folder, slash, label = beside.rpartition("/")
        suffix = "" if beside.startswith(TOKEN_PREFIX) else Path(label).suffix
        stem = f"{label.rpartition('-')[0]}-{name}" if beside.startswith(TOKEN_PREFIX) and "-" in label else name
        place = f"{folder}{slash}{stem}{suffix}"
        return self.next_place(place) if self._is_taken(place) else place

    def find_place(self, near: str, key_id: KeyId) -> str | None:
        """The place of this key among the followers of `near`, or None."""
        number = 2
        while self._is_taken(place := _numbered(near, number)):
            if self._key_id_at(place) == key_id:
                return place
            number += 1
        return None

    def _is_taken(self, place: str) -> bool:
        token = self._find_token(place)
        if token is not None:
            return token.find_signer(_label(place)) is not None
        return self._path(place).exists()

    def _key_id_at(self, place: str) -> KeyId | None:
        """Files by their public half, which needs no passphrase; a damaged one is no answer."""
        try:
            if place.startswith((TOKEN_PREFIX, SECRET_PREFIX)):
                return self.load(place).key_id
            return key_id_of(parse_public_key(public_path(self._path(place)).read_text(encoding="utf-8")))
        except (KeyUseError, OSError, UnicodeDecodeError):
            return None

    def _path(self, place: str) -> Path:
        return self._folder / place.removeprefix(SECRET_PREFIX)

    def _find_token(self, place: str) -> "Pkcs11Token | None":
        if not place.startswith(TOKEN_PREFIX):
            return None
        from assay.adapters.kms.errors import KmsError  # noqa: PLC0415 - an extra, loaded when chosen
        from assay.adapters.kms.pkcs11 import Pkcs11Token  # noqa: PLC0415 - an extra, loaded when chosen

        label = place.removeprefix(TOKEN_PREFIX).partition("/")[0]
        if label not in self._tokens:
            if not self._pin:
                # Tried as an empty one, it would count as a wrong guess, and tokens lock after a few.
                raise KmsError.kms_login(f"expected the PIN of `{label[:80]}` in `ASSAY_PKCS11_PIN`, got none")
            module = Path(self._module or "")
            self._tokens[label] = Pkcs11Token.open(module, token_label=label, pin=self._pin)
        return self._tokens[label]


def _label(place: str) -> str:
    return place.removeprefix(TOKEN_PREFIX).partition("/")[2]


def _numbered(place: str, number: int) -> str:
    """The place with its number set; a key's own name may end in a number only after a hyphen."""
    folder, slash, name = place.rpartition("/")
    stem, dot, suffix = name, "", ""
    if not place.startswith(TOKEN_PREFIX):
        stem, dot, suffix = name.rpartition(".") if "." in name else (name, "", "")
    first = stem.rpartition("-")[0] if stem.rpartition("-")[2].isdigit() and "-" in stem else stem
    return f"{folder}{slash}{first}-{number}{dot}{suffix}"
