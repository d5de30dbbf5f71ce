"""Where keys are: each successor has a name of its own, and is found again by its id."""

from pathlib import Path

import pytest

from assay.adapters.hmac_secret import HmacSigner
from assay.adapters.key_places import KeyPlaces, SecretPlaceError
from tests.contract._kit import refused
from tests.kernel._seed_signer import SeedSigner


@pytest.mark.parametrize(
    ("place", "following"),
    [
        ("keys/ledger.key", "keys/ledger-2.key"),
        ("keys/ledger-2.key", "keys/ledger-3.key"),
        ("keys/ledger", "keys/ledger-2"),
        ("7.key", "7-2.key"),
    ],
)
def test_a_key_is_followed_by_the_next_number_that_is_free(place: str, following: str, tmp_path: Path) -> None:
    places = KeyPlaces(tmp_path)
    (tmp_path / "keys").mkdir()
    if "-2" in place:
        places.create(place)
    assert places.next_place(place) == following


def test_a_successor_is_found_by_its_id_without_its_passphrase(tmp_path: Path) -> None:
    """By its public half, beside the private one; a damaged one is passed over."""
    signers = [KeyPlaces(tmp_path, passphrase="open sesame").create(f"ledger-{n}.key") for n in (2, 3, 4)]
    (tmp_path / "ledger-2.key.pub").write_text("nonsense")
    places = KeyPlaces(tmp_path)
    assert places.find_place("ledger.key", signers[0].key_id) is None
    assert places.find_place("ledger.key", signers[1].key_id) == "ledger-3.key"
    assert places.find_place("ledger-2.key", signers[2].key_id) == "ledger-4.key"
    assert places.find_place("ledger.key", SeedSigner(1).key_id) is None


def test_a_shared_secret_is_loaded_from_its_file_and_never_made(tmp_path: Path) -> None:
    """It is the operator's to give: a node that made one could not tell who else has it."""
    secret, path = bytes(range(32)), tmp_path / "truth-2.hmac"
    path.write_bytes(secret)
    path.chmod(0o600)
    made = HmacSigner(secret)
    places = KeyPlaces(tmp_path)
    signer = places.load("hmac:truth-2.hmac")
    assert (signer.key_id, signer.method, signer.public_key) == (made.key_id, "local_hmac", None)
    assert places.next_place("hmac:truth.hmac") == "hmac:truth-3.hmac"
    assert places.find_place("hmac:truth.hmac", made.key_id) == "hmac:truth-2.hmac"
    with pytest.raises(SecretPlaceError):
        places.create("hmac:truth-3.hmac")


def test_without_a_pin_no_token_is_asked(tmp_path: Path) -> None:
    """An empty PIN would be a wrong guess; the module that does not exist here is never loaded."""
    with KeyPlaces(tmp_path, module="/no/such/module.so") as places, refused("key.kms_login"):
        places.load("pkcs11:node/ledger")
