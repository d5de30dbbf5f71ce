"""Released contracts, read back: the one of a claim type, and those that could speak for a key."""

from collections.abc import Mapping

from assay.flows.errors.truth import NotReleasedError
from assay.kernel.ids import TenantId
from assay.ports.database import Unit
from assay.ports.truth_store import ReleasedContract
from assay.truth.contract import Contract
from assay.truth.key import TruthKey, parse_claim_type_id
from assay.truth.parse_contract import contract_from_document


def get_contract(unit: Unit, tenant_id: TenantId, claim_type: str) -> ReleasedContract:
    found = unit.truth.find_contract(tenant_id, claim_type)
    if found is None:
        raise NotReleasedError(f"expected a released contract, got `{claim_type[:80]}`: release it first")
    return found


def find_contracts_of(unit: Unit, tenant_id: TenantId, key: TruthKey) -> list[ReleasedContract]:
    """Every released version for the key's domain and topic, the newest first."""
    named = (key.domain, key.topic)
    known = [one for one in unit.truth.contracts(tenant_id) if parse_claim_type_id(one.claim_type) == named]
    return sorted(known, key=lambda one: _version(one.claim_type), reverse=True)


def _version(claim_type: str) -> int:
    return int(claim_type.rpartition(".v")[2])


def read_contract(document: str, schema_text: str | None, domain_systems: Mapping[str, str] | None = None) -> Contract:
    """The contract from its canonical document; reading costs milliseconds, so each is read once."""
    return contract_from_document(document, schema_text, tuple(sorted((domain_systems or {}).items())))
