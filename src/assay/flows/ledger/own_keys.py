"""The node's own keys, as trust sees them: what its first ledger key vouches for, directly or by rotation."""

from collections.abc import Callable

from assay.flows.errors.ledger import LedgerFlowError, OtherDatabaseError
from assay.flows.tools import Tools
from assay.kernel.errors import KeyUseError
from assay.kernel.ids import KeyId
from assay.kernel.instant import Instant
from assay.kernel.key import KeyPurpose, KeyRecord, KeyRing, TrustAnchors, trusted_keys
from assay.ports.database import Unit
from assay.ports.signer import Signer

FindPlace = Callable[[KeyPurpose, KeyId], str | None]


def own_key_ring(tools: Tools) -> KeyRing:
    """Every key of this node, with its validity."""
    return tools.database.read(lambda unit: own_key_ring_in(unit, tools.founder))


def own_key_ring_in(unit: Unit, founder: KeyId) -> KeyRing:
    """The same, as one unit of work sees it.

    The root is the key the folder was founded with, as the folder says it: the database is what is to be judged, so it
    does not name its own judge. The operator's anchors are for the documents of others.
    """
    anchors = TrustAnchors(key_ids=frozenset([founder]))
    return trusted_keys(anchors, unit.keys.endorsements(), unit.keys.retirements())


def own_signers(tools: Tools) -> tuple[tuple[KeyPurpose, Signer], ...]:
    """The keys in use, by what they sign; the ledger's first, since it vouches for the others."""
    signers = (
        (KeyPurpose.LEDGER, tools.ledger_signer),
        (KeyPurpose.REVIEW, tools.review_signer),
        (KeyPurpose.TRANSCRIPT, tools.transcript_signer),
    )
    return signers if tools.truth_signer is None else (*signers, (KeyPurpose.TRUTH, tools.truth_signer))


def has_key_for(ring: KeyRing, purpose: KeyPurpose) -> bool:
    return any(record.purpose is purpose for known in ring.records.values() for record in known)


def find_successor(ring: KeyRing, key_id: KeyId, purpose: KeyPurpose) -> KeyRecord | None:
    """The newest key that replaces this one for this purpose, followed through later rotations."""
    records = [record for known in ring.records.values() for record in known if record.purpose is purpose]
    found: KeyRecord | None = None
    for _ in records:  # no chain is longer than its keys, whatever they say of each other
        current = key_id if found is None else found.key_id
        heirs = [record for record in records if record.replaces == current and record.key_id != key_id]
        if not heirs:
            break
        found = max(heirs, key=lambda record: record.valid_from)
    return found


def verify_own_keys(tools: Tools, *, at: Instant, find_place: FindPlace) -> None:
    """Raise `key.not_own` unless each key in use is endorsed and valid now; `find_place` says where a key file is.

    A signature by any other key could never be taken back, so a node with a wrong key must not begin to write.
    Where the database knows none of them, it is that which is wrong: `ledger.other_database`.
    """
    ring = own_key_ring(tools)
    tools.database.read(lambda unit: verify_own_database(unit, tools, ring))
    for purpose, signer in own_signers(tools):
        if purpose is KeyPurpose.TRUTH and not has_key_for(ring, purpose):
            continue  # it goes on record when it is first needed
        try:
            ring.get(signer.key_id, at, purpose=purpose)
        except KeyUseError as error:
            advice = _advice(ring, signer.key_id, purpose, find_place)
            raise LedgerFlowError.key_not_own(
                f"the {purpose} key of assay.toml cannot sign: {error} [{error.code}]; {advice}"
            ) from error


def verify_own_database(unit: Unit, tools: Tools, ring: KeyRing) -> None:
    """Raise `ledger.other_database` where the key that this node was founded with is not on record."""
    if ring.records:
        return
    founders = [one.record.key_id for one in unit.keys.endorsements() if one.endorsed_by == one.record.key_id]
    got = f"that of a node founded with {founders[0]}" if founders else "one that no node was founded in"
    raise OtherDatabaseError(
        f"expected the database of `{tools.origin}`, founded with {tools.founder}, got {got};"
        " `database.url` says which it is, and `assay restore` makes a node from a backup"
    )


def _advice(ring: KeyRing, key_id: KeyId, purpose: KeyPurpose, find_place: FindPlace) -> str:
    successor = find_successor(ring, key_id, purpose)
    if successor is None:
        return f"point `keys.{purpose}` to a key that `assay key list` shows"
    place = find_place(purpose, successor.key_id)
    if place is None:
        return f"its successor is {successor.key_id}: point `keys.{purpose}` to that key"
    return f'its successor is in place: set `{purpose} = "{place}"` under `[keys]`'
