"""A key on a real (software) token signs as any other, never leaves it, and fails with a code."""

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pkcs11
import pytest
from pkcs11 import Attribute, KeyType, Mechanism, ObjectClass

from assay.adapters.kms.errors import KmsError
from assay.adapters.kms.pkcs11 import Pkcs11Signer, Pkcs11Token
from assay.kernel.key import SigningMethod, key_id_of
from assay.kernel.signature import verify_ed25519
from assay.ports.signer import Signer
from tests.kernel._seed_signer import SeedSigner

_MODULE = Path("/usr/lib/softhsm/libsofthsm2.so")
_PIN = "271828"
# Ed448 (RFC 8410): the other Edwards curve, which we do not use.
_ED448_PARAMS = bytes.fromhex("06032b6571")


@pytest.fixture(scope="module")
def module_path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """SoftHSM with two tokens of the same label and one of its own; read once per process, so for all tests here."""
    folder = tmp_path_factory.mktemp("softhsm")
    (folder / "tokens").mkdir()
    config = folder / "softhsm2.conf"
    config.write_text(f"directories.tokendir = {folder}/tokens\nobjectstore.backend = file\nlog.level = ERROR\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOFTHSM2_CONF", str(config))
        for label in ("assay", "twin", "twin"):
            _init_token(label)
        yield _MODULE
        pkcs11.unload(str(_MODULE))


@pytest.fixture
def token(module_path: Path) -> Iterator[Pkcs11Token]:
    with Pkcs11Token.open(module_path, token_label="assay", pin=_PIN) as token:
        yield token


def _init_token(label: str) -> None:
    command = ["softhsm2-util", "--init-token", "--free", "--label", label, "--pin", _PIN, "--so-pin", "31415926"]
    subprocess.run(command, check=True, capture_output=True, env=dict(os.environ))


def _open_code(module_path: Path, *, label: str = "assay", pin: str = _PIN) -> str:
    with pytest.raises(KmsError) as caught:
        Pkcs11Token.open(module_path, token_label=label, pin=pin)
    assert pin not in str(caught.value)
    return caught.value.code


def test_a_generated_key_signs_what_anyone_can_verify(token: Pkcs11Token) -> None:
    signer: Signer = token.create_signer("ledger")
    assert signer.public_key is not None
    assert (signer.method, signer.key_id) == (SigningMethod.ED25519, key_id_of(signer.public_key))
    for message in (b"", b"m", bytes(100_000)):
        verify_ed25519(signer.public_key, message, signer.sign(message))


def test_the_private_half_cannot_leave_the_token(token: Pkcs11Token) -> None:
    token.create_signer("kept")
    key = token._get_session().get_key(ObjectClass.PRIVATE_KEY, label="kept")
    assert (key[Attribute.SENSITIVE], key[Attribute.EXTRACTABLE]) == (True, False)
    with pytest.raises(pkcs11.exceptions.PKCS11Error):
        _ = key[Attribute.VALUE]


def test_a_key_is_found_again_after_reopening(module_path: Path) -> None:
    with Pkcs11Token.open(module_path, token_label="assay", pin=_PIN) as token:
        created = token.create_signer("again")
    with Pkcs11Token.open(module_path, token_label="assay", pin=_PIN) as token:
        found = token.get_signer("again")
        assert found.key_id == created.key_id
        assert repr(found) == f"Pkcs11Signer('{created.key_id}')"
        verify_ed25519(created.public_key, b"m", found.sign(b"m"))


def test_a_label_names_one_key(token: Pkcs11Token) -> None:
    token.create_signer("once")
    with pytest.raises(KmsError) as caught:
        token.create_signer("once")
    assert caught.value.code == "key.kms_exists"
    token._generate("once")
    with pytest.raises(KmsError) as caught:
        token.find_signer("once")
    assert caught.value.code == "key.kms_key"


def test_a_missing_key_is_not_made_up(token: Pkcs11Token) -> None:
    assert token.find_signer("nobody") is None
    with pytest.raises(KmsError) as caught:
        token.get_signer("nobody")
    assert caught.value.code == "key.kms_key"


def test_a_key_on_another_curve_is_refused(token: Pkcs11Token) -> None:
    curve = token._get_session().create_domain_parameters(
        KeyType.EC_EDWARDS, {Attribute.EC_PARAMS: _ED448_PARAMS}, local=True
    )
    curve.generate_keypair(mechanism=Mechanism.EC_EDWARDS_KEY_PAIR_GEN, store=True, label="ed448")
    with pytest.raises(KmsError) as caught:
        token.find_signer("ed448")
    assert caught.value.code == "key.kms_key"


def test_threads_share_a_signer(token: Pkcs11Token) -> None:
    """A session does one operation at a time; two at once would mix their messages."""
    signers = [token.create_signer("thread-a"), token.create_signer("thread-b")]

    def sign(number: int) -> None:
        signer, message = signers[number % 2], b"message %d" % number
        verify_ed25519(signer.public_key, message, signer.sign(message))

    with ThreadPoolExecutor(4) as pool:
        assert len(list(pool.map(sign, range(80)))) == 80


def test_a_wrong_pin_is_a_login_error_and_is_not_repeated(module_path: Path) -> None:
    assert _open_code(module_path, pin="999999") == "key.kms_login"
    assert _open_code(module_path, pin="9") == "key.kms_login"


def test_a_second_login_of_one_process_is_told_apart(module_path: Path, token: Pkcs11Token) -> None:
    assert token.find_signer("x") is None
    assert _open_code(module_path) == "key.kms_busy"


@pytest.mark.parametrize("label", ["absent", "twin"])
def test_the_label_has_to_name_one_token(module_path: Path, label: str) -> None:
    assert _open_code(module_path, label=label) == "key.kms_token"


def test_a_module_that_cannot_be_loaded_is_a_coded_error(tmp_path: Path, module_path: Path) -> None:
    assert module_path.is_file()
    assert _open_code(tmp_path / "none.so") == "key.kms_unavailable"
    text = tmp_path / "text.so"
    text.write_text("not a library")
    assert _open_code(text) == "key.kms_unavailable"


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pkcs11", None)
    assert _open_code(_MODULE) == "key.kms_unavailable"


def test_a_closed_token_signs_nothing(module_path: Path) -> None:
    with Pkcs11Token.open(module_path, token_label="assay", pin=_PIN) as token:
        signer = token.create_signer("closed")
    token.close()
    for use in (lambda: signer.sign(b"m"), lambda: token.find_signer("closed"), lambda: token.create_signer("new")):
        with pytest.raises(KmsError) as caught:
            use()
        assert caught.value.code == "key.kms_session"


def test_a_session_that_dies_underneath_signs_nothing(module_path: Path) -> None:
    """As when a card is drawn: the handle is dead, and we were not told."""
    token = Pkcs11Token.open(module_path, token_label="assay", pin=_PIN)
    signer = token.create_signer("dying")
    token._get_session().close()
    with pytest.raises(KmsError) as caught:
        signer.sign(b"m")
    assert caught.value.code == "key.kms_session"
    with pytest.raises(KmsError) as caught:
        token._generate("other")
    assert caught.value.code == "key.kms"
    token.close()


# The binding closes a search that never began, and complains about itself while it is collected.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_session_that_dies_underneath_finds_nothing(module_path: Path) -> None:
    token = Pkcs11Token.open(module_path, token_label="assay", pin=_PIN)
    token._get_session().close()
    with pytest.raises(KmsError) as caught:
        token.find_signer("any")
    assert caught.value.code == "key.kms_session"
    token.close()


def test_a_signature_that_does_not_verify_is_withheld(token: Pkcs11Token) -> None:
    """A token that answers with other bytes, here with those of another key, is caught before anyone relies on them."""
    honest = token.create_signer("honest")
    lying = Pkcs11Signer(token, honest._private_key, SeedSigner(1).public_key)
    with pytest.raises(KmsError) as caught:
        lying.sign(b"m")
    assert caught.value.code == "key.kms_signature"
