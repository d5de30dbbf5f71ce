"""The door's memory: keys are facts, a nonce is used once, failures are counted and forgotten."""

from assay.identity.signing_key import SigningKeyEnd
from assay.identity.throttle import account_subject, address_subject
from assay.ports.database import Database
from tests.contract._access import PUBLIC_KEYS, end_of, failures, nonce, signing_key
from tests.contract._kit import refused
from tests.contract._people import add_signer, end_credential
from tests.contract._records import ACME, ALICE, BOB, GLOBEX, later


def test_a_signing_key_is_registered_once_and_ends(database: Database) -> None:
    """For all tenants together: one key proves one principal."""
    first, second = signing_key(0), signing_key(1)
    for one in (first, second):
        database.write(lambda unit, one=one: add_signer(unit, one))  # type: ignore[misc]  # bound at once
    with refused("store.conflict"):
        database.write(lambda unit: add_signer(unit, first))
    assert database.read(lambda unit: unit.access.find_signing_key(first.key_id)) == first
    assert database.read(lambda unit: unit.identity.ends(ACME, [first.key_id], SigningKeyEnd)) == ()
    database.write(lambda unit: end_credential(unit, end_of(first)))
    ids = [first.key_id, second.key_id]
    assert database.read(lambda unit: unit.identity.ends(ACME, ids, SigningKeyEnd)) == (end_of(first),)


def test_keys_are_listed_for_their_principal_alone(database: Database) -> None:
    for number in range(len(PUBLIC_KEYS)):
        database.write(lambda unit, n=number: add_signer(unit, signing_key(n)))  # type: ignore[misc]  # bound
    found = database.read(lambda unit: unit.access.signing_keys(ACME, ALICE))
    assert found == tuple(sorted((signing_key(0), signing_key(1)), key=lambda one: one.key_id))
    assert database.read(lambda unit: unit.access.signing_keys(ACME, BOB)) == ()
    assert database.read(lambda unit: unit.access.signing_keys(GLOBEX, ALICE)) == ()


def test_a_nonce_is_used_once_until_it_is_forgotten(database: Database) -> None:
    """Expired ones go, younger ones stay; what was signed with it is told exactly."""
    early, late = nonce("e" * 16, minutes=5), nonce("l" * 16, minutes=9)
    for one in (early, late):
        database.write(lambda unit, one=one: unit.access.use_nonce(one))  # type: ignore[misc]  # bound at once
    with refused("store.conflict"):
        database.write(lambda unit: unit.access.use_nonce(early))
    assert database.read(lambda unit: unit.access.find_nonce(early.key_id, early.nonce)) == early
    assert database.write(lambda unit: unit.access.forget_nonces(before=later(6))) == 1
    assert database.read(lambda unit: unit.access.find_nonce(early.key_id, early.nonce)) is None
    assert database.read(lambda unit: unit.access.find_nonce(late.key_id, late.nonce)) == late


def test_failures_are_kept_for_each_subject_until_cleared_or_old(database: Database) -> None:
    account, address = account_subject(ACME, ALICE), address_subject("192.0.2.1")
    database.write(lambda unit: unit.access.put_failures(account, failures(1)))
    database.write(lambda unit: unit.access.put_failures(account, failures(2, minutes=1)))
    database.write(lambda unit: unit.access.put_failures(address, failures(7, minutes=3)))
    assert database.read(lambda unit: unit.access.find_failures(account)) == failures(2, minutes=1)
    assert database.write(lambda unit: unit.access.forget_failures(before=later(2))) == 1
    assert database.read(lambda unit: unit.access.find_failures(account)) is None
    assert database.read(lambda unit: unit.access.find_failures(address)) == failures(7, minutes=3)
    database.write(lambda unit: unit.access.clear_failures(address))
    assert database.read(lambda unit: unit.access.find_failures(address)) is None
