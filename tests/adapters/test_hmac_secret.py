"""An HMAC secret comes from a private file, has at least 32 bytes, and has no default."""

import stat
from pathlib import Path

import pytest

from assay.adapters.clock import OsEntropy
from assay.adapters.hmac_secret import HmacSigner, create_secret_file, load_secret_file
from assay.kernel.errors import KeyUseError, SignatureError
from assay.kernel.key import SigningMethod, hmac_key_id_of
from assay.kernel.signature import verify_hmac
from assay.ports.signer import Signer


def test_a_created_secret_signs_the_same_after_loading(tmp_path: Path) -> None:
    path = tmp_path / "truth.secret"
    created: Signer = create_secret_file(path, OsEntropy())
    loaded = load_secret_file(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (loaded.key_id, loaded.method, loaded.public_key) == (created.key_id, SigningMethod.LOCAL_HMAC, None)
    verify_hmac(path.read_bytes(), b"m", loaded.sign(b"m"))
    assert created.sign(b"m") == loaded.sign(b"m")
    with pytest.raises(SignatureError):
        verify_hmac(path.read_bytes(), b"n", loaded.sign(b"m"))


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


def test_an_existing_secret_is_never_overwritten(tmp_path: Path) -> None:
    create_secret_file(tmp_path / "secret", OsEntropy())
    with pytest.raises(KeyUseError) as caught:
        create_secret_file(tmp_path / "secret", OsEntropy())
    assert caught.value.code == "key.exists"
