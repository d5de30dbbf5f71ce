"""A contract becomes law for its claim type: whole, in the ledger, and never changed again (Kaori 6.4).

text + schema -> contract -> nothing else under its id -> entry and row
"""

from msgspec import Struct

from assay.flows.delivery.project_rules import project_contract
from assay.flows.identity.admit_principal import admit_principal
from assay.flows.tools import Tools
from assay.flows.truth.truth_entry import news_of
from assay.flows.truth.truth_key import introduce_truth_key
from assay.identity.principal import BuiltInRole
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import Draft, EntryKind, draft_entry
from assay.ports.database import Unit
from assay.ports.truth_store import ReleasedContract
from assay.truth.contract import Contract
from assay.truth.errors import ContractChangedError
from assay.truth.parse_contract import parse_contract


class ContractReleased(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `contract.released` entry: the law itself, so that a state replays from the ledger alone.

    `domain_systems` are the domains outside Kaori's four that it was read with.
    """

    claim_type: str
    claim_type_hash: str
    document: str
    schema_text: str | None
    domain_systems: dict[str, str]
    released_by: PrincipalId


class Release(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The contract in force; `is_new` is false where the same body was released before."""

    contract: ReleasedContract
    is_new: bool


def release_contract(
    tools: Tools, text: str, schema_bytes: bytes | None = None, *, credential: str, at: Instant
) -> Release:
    """Release a contract, as an operator. The same again changes nothing; another is `truth.contract_changed`."""
    principal = tools.database.read(
        lambda unit: admit_principal(unit, credential, any_of=[BuiltInRole.OPERATOR], at=at)
    )
    contract = parse_contract(text, schema_bytes=schema_bytes, domain_systems=tools.domain_systems)
    schema_text = None if schema_bytes is None else schema_bytes.decode()
    tenant_id = principal.tenant_id
    entry = _entry(tools, tenant_id, contract, schema_text, principal.id, at)
    # A node that releases a contract will sign states under it; its key goes on record before the first of them.
    introduce_truth_key(tools, tenant_id, at=at)

    def work(unit: Unit) -> Release:
        admit_principal(unit, credential, any_of=[BuiltInRole.OPERATOR], at=at)
        known = unit.truth.find_contract(tenant_id, contract.id)
        if known is not None:
            return _again(known, contract)
        released = ReleasedContract(
            claim_type=contract.id,
            claim_type_hash=contract.claim_type_hash,
            document=contract.document,
            schema_text=schema_text,
            released_at=at,
            released_by=principal.id,
            sequence_number=unit.record(entry).sequence_number,
        )
        unit.truth.release_contract(tenant_id, released)
        project_contract(unit, tenant_id, contract, entry=released.sequence_number, by=principal.id, at=at)
        return Release(contract=released, is_new=True)

    return tools.database.write(work)


def _again(known: ReleasedContract, contract: Contract) -> Release:
    if known.claim_type_hash != contract.claim_type_hash:
        raise ContractChangedError(
            f"`{contract.id}` was released as {known.claim_type_hash}, got {contract.claim_type_hash}; "
            "a change needs a new version"
        )
    return Release(contract=known, is_new=False)


def _entry(
    tools: Tools, tenant_id: TenantId, contract: Contract, schema_text: str | None, by: PrincipalId, at: Instant
) -> Draft:
    body = ContractReleased(
        claim_type=contract.id,
        claim_type_hash=contract.claim_type_hash,
        document=contract.document,
        schema_text=schema_text,
        domain_systems={name: system for name, system in tools.domain_systems.items() if name == contract.domain},
        released_by=by,
    )
    news = {"claim_type": contract.id, "claim_type_hash": contract.claim_type_hash}
    event = news_of(EntryKind.CONTRACT_RELEASED, contract.id, news)
    return draft_entry(tenant_id, EntryKind.CONTRACT_RELEASED, body, at=at, events=(event,))
