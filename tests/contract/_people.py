"""Principals and credentials in a store: each is recorded by the entry that it follows from."""

from assay.facts.identity import (
    credential_issued,
    credential_revoked,
    principal_recorded,
    signing_key_added,
    signing_key_row,
)
from assay.identity.principal import Principal
from assay.identity.signing_key import SigningKeyRecord
from assay.kernel.commitment import MIN_SALT_SIZE
from assay.kernel.ledger import Receipt
from assay.ports.database import Unit
from assay.ports.identity_store import Credential, End
from tests.contract._records import ALICE, BOB

__all__ = ["add_credential", "add_person", "add_signer", "end_credential"]


def add_person(unit: Unit, principal: Principal) -> Receipt:
    return unit.record(principal_recorded(principal, None if principal.name is None else b"s" * MIN_SALT_SIZE))


def add_credential(unit: Unit, record: Credential) -> Receipt:
    row = unit.identity.sealed(record)
    return unit.record(credential_issued(record, row, by=BOB), row)


def add_signer(unit: Unit, record: SigningKeyRecord) -> Receipt:
    return unit.record(signing_key_added(record), signing_key_row(record))


def end_credential(unit: Unit, end: End) -> Receipt:
    at = end.ended_at if hasattr(end, "ended_at") else end.revoked_at
    return unit.record(credential_revoked(ALICE, end, at=at))
