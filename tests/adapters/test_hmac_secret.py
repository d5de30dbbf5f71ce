"""An HMAC secret comes from a private file, has at least 32 bytes, and has no default."""

from pathlib import Path

import pytest

from assay.adapters.hmac_secret import HmacSigner, load_secret_file
from assay.kernel.errors import KeyUseError, SignatureError
from assay.kernel.key import SigningMethod, hmac_key_id_of
from assay.kernel.signature import verify_hmac
from assay.ports.signer import Signer


def test_a_secret_signs_the_same_after_loading(tmp_path: Path) -> None:
    secret, path = bytes(range(32)), tmp_path / "truth.secret"
    path.write_bytes(secret)
    path.chmod(0o600)
    given: Signer = HmacSigner(secret)
    loaded = load_secret_file(path)
    assert (loaded.key_id, loaded.method, loaded.public_key) == (given.key_id, SigningMethod.LOCAL_HMAC, None)
    verify_hmac(secret, b"m", loaded.sign(b"m"))
    assert given.sign(b"m") == loaded.sign(b"m")
    with pytest.raises(SignatureError):
        verify_hmac(secret, b"n", loaded.sign(b"m"))


def test_the_key_id_is_the_check_value_of_the_secret() -> None:
    signer = HmacSigner(b"s" * 32)
    assert signer.key_id == hmac_key_id_of(b"s" * 32)
    assert repr(signer) == f"HmacSigner('{signer.key_id}')"


@pytest.mark.parametrize(
    ("content", "mode", "code"),
    [
        (b"", 0o600, "key.short_secret"),
        (b"s" * 31, 0o600, "key.short_secret"),
        (b"s" * 32, 0o644, "key.file_mode"),
        (None, 0o600, "key.file_missing"),
    ],
)
def test_a_bad_secret_file_is_refused(tmp_path: Path, content: bytes | None, mode: int, code: str) -> None:
    path = tmp_path / "secret"
    if content is not None:
        path.write_bytes(content)
        path.chmod(mode)
    with pytest.raises(KeyUseError) as caught:
        load_secret_file(path)
    assert caught.value.code == code
