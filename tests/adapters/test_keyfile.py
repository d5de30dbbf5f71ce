"""A private key file is private, durable and never overwritten; anything else at its path is refused."""

import errno
import os
import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from assay.adapters.keyfile import KeyFileError, KeyFileSigner, create_key_file, load_key_file, public_path
from assay.kernel.key import SigningMethod, key_id_of, parse_public_key
from assay.kernel.signature import verify_ed25519
from assay.ports.signer import Signer


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.key"


def _code(path: Path, passphrase: str | None = None) -> str:
    with pytest.raises(KeyFileError) as caught:
        load_key_file(path, passphrase=passphrase)
    assert "PRIVATE" not in str(caught.value)
    return caught.value.code


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    path.chmod(0o600)


@pytest.mark.parametrize("passphrase", [None, "open sesame"])
def test_a_created_key_signs_the_same_after_loading(path: Path, passphrase: str | None) -> None:
    created: Signer = create_key_file(path, passphrase=passphrase)
    loaded = load_key_file(path, passphrase=passphrase)
    assert (loaded.key_id, loaded.public_key, loaded.method) == (
        created.key_id,
        created.public_key,
        SigningMethod.ED25519,
    )
    assert loaded.key_id == key_id_of(loaded.public_key)
    verify_ed25519(loaded.public_key, b"m", created.sign(b"m"))


def test_the_private_file_is_for_its_owner_and_the_public_one_for_all(path: Path) -> None:
    """Whatever the umask says."""
    before = os.umask(0o077)
    try:
        signer = create_key_file(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(public_path(path).stat().st_mode) == 0o644
    assert parse_public_key(public_path(path).read_text()) == signer.public_key


def test_two_keys_are_never_the_same(tmp_path: Path) -> None:
    assert create_key_file(tmp_path / "a").key_id != create_key_file(tmp_path / "b").key_id


def test_an_existing_key_is_never_overwritten(path: Path) -> None:
    create_key_file(path)
    content = path.read_bytes()
    with pytest.raises(KeyFileError) as caught:
        create_key_file(path)
    assert caught.value.code == "key.exists"
    assert path.read_bytes() == content


def test_a_link_is_not_written_through(path: Path) -> None:
    path.symlink_to(path.parent / "elsewhere")
    with pytest.raises(KeyFileError) as caught:
        create_key_file(path)
    assert caught.value.code == "key.exists"
    assert not (path.parent / "elsewhere").exists()


def test_a_link_to_a_private_file_is_read(tmp_path: Path, path: Path) -> None:
    """Mounted secrets are links."""
    signer = create_key_file(path)
    link = tmp_path / "link"
    link.symlink_to(path)
    assert load_key_file(link).key_id == signer.key_id


def test_a_missing_key_is_not_made_up(path: Path) -> None:
    assert _code(path) == "key.file_missing"
    assert not path.exists()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o601, 0o666])
def test_a_key_that_others_can_reach_is_refused(path: Path, mode: int) -> None:
    create_key_file(path)
    path.chmod(mode)
    assert _code(path) == "key.file_mode"


def test_a_key_of_another_user_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its owner could replace it at any time."""
    create_key_file(path)
    if os.geteuid() == 0:
        os.chown(path, 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert _code(path) == "key.file_mode"


@pytest.mark.parametrize(
    "content",
    [b"", b"\x00" * 100, b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", b"x" * 70_000],
    ids=["empty", "binary", "damaged", "too long"],
)
def test_a_file_that_is_no_key_is_refused(path: Path, content: bytes) -> None:
    _write(path, content)
    assert _code(path) == "key.file_malformed"
    assert _code(path, passphrase="p") == "key.file_malformed"


def test_a_truncated_key_is_refused(path: Path) -> None:
    create_key_file(path)
    _write(path, path.read_bytes()[:60])
    assert _code(path) == "key.file_malformed"


def test_a_key_of_another_kind_is_refused(path: Path) -> None:
    key = generate_private_key(SECP256R1())
    _write(path, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    assert _code(path) == "key.file_malformed"


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    """A pipe would otherwise wait for ever."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o600)
    assert _code(pipe) == "key.file_malformed"
    folder = tmp_path / "folder"
    folder.mkdir(0o700)
    assert _code(folder) in {"key.file_malformed", "key.file"}
    assert _code(pipe / "below") == "key.file"


def test_the_passphrase_has_to_fit(path: Path, tmp_path: Path) -> None:
    create_key_file(path, passphrase="right")
    assert _code(path) == "key.passphrase"
    assert _code(path, passphrase="wrong") == "key.passphrase"
    plain = tmp_path / "plain"
    create_key_file(plain)
    assert _code(plain, passphrase="any") == "key.passphrase"


def test_an_empty_passphrase_is_refused_and_nothing_is_written(path: Path) -> None:
    with pytest.raises(KeyFileError) as caught:
        create_key_file(path, passphrase="")
    assert caught.value.code == "key.passphrase"
    assert not path.exists()


def test_a_failing_disk_leaves_no_half_written_key(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.EIO, "input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(KeyFileError) as caught:
        create_key_file(path)
    assert caught.value.code == "key.file"
    assert not path.exists()


def test_file_and_folder_are_made_durable(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that has signed must not vanish with the power."""
    synced: list[bool] = []
    real = os.fsync

    def watch(descriptor: int) -> None:
        synced.append(stat.S_ISDIR(os.fstat(descriptor).st_mode))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", watch)
    create_key_file(path)
    assert synced == [False, True, False, True]


def test_a_folder_that_is_not_there_is_a_coded_error(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError) as caught:
        create_key_file(tmp_path / "none" / "key")
    assert caught.value.code == "key.file"


def test_a_signer_does_not_print_its_secret() -> None:
    signer = KeyFileSigner(Ed25519PrivateKey.from_private_bytes(b"\x07" * 32))
    assert repr(signer) == f"KeyFileSigner('{signer.key_id}')"
