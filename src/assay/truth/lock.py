"""The lock: which body every released contract has, so that none changes under its id (Kaori 6.4).

    earth.flood.v1 <64 hex digits>

One line each, sorted by id; `#` starts a comment line.
"""

import re
from collections.abc import Iterable

from msgspec import Struct

from assay.truth.contract import Contract
from assay.truth.errors import TruthError

_HEADING = "# Released contracts and the SHA-256 of their canonical form (kaori-2.1). A change needs a new version.\n"
_LINE = re.compile(r"([a-z0-9_-]+\.[a-z0-9_-]+\.v[1-9][0-9]*) ([0-9a-f]{64})", re.ASCII)


class Released(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, order=True):
    id: str
    claim_type_hash: str


class ContractLock(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Sorted by id, each id once."""

    released: tuple[Released, ...] = ()

    def find(self, claim_type_id: str) -> Released | None:
        return next((entry for entry in self.released if entry.id == claim_type_id), None)


def parse_lock(text: str) -> ContractLock:
    entries = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise TruthError.lock_form(f"expected `id hash` in line {number}, got `{line[:80]}`")
        entries.append(Released(id=match[1], claim_type_hash=match[2]))
    ids = [entry.id for entry in entries]
    if ids != sorted(set(ids)):
        raise TruthError.lock_form(f"expected ids sorted and once each, got `{', '.join(ids)[:120]}`")
    return ContractLock(released=tuple(entries))


def render_lock(lock: ContractLock) -> str:
    return _HEADING + "".join(f"{entry.id} {entry.claim_type_hash}\n" for entry in lock.released)


def verify_lock(lock: ContractLock, contracts: Iterable[Contract]) -> None:
    """Raise if a contract has another body than its release; one that was never released passes."""
    for contract in contracts:
        entry = lock.find(contract.id)
        if entry is not None and entry.claim_type_hash != contract.claim_type_hash:
            raise TruthError.contract_changed(
                f"`{contract.id}` was released as {entry.claim_type_hash}, got {contract.claim_type_hash}; "
                "a change needs a new version"
            )


def release(lock: ContractLock, contract: Contract) -> ContractLock:
    """The lock with the contract in it; releasing the same body again changes nothing."""
    verify_lock(lock, [contract])
    entry = Released(id=contract.id, claim_type_hash=contract.claim_type_hash)
    return ContractLock(released=tuple(sorted({*lock.released, entry})))
