"""Contracts: release one for its claim type, whole and never changed again (Kaori 6.4); list and show them.

text + schema -> contract -> nothing else under its id -> entry and row
"""

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import asdict

from assay.facts.truth import contract_entry
from assay.flows.delivery.project_rules import project_contract
from assay.flows.errors import NotFoundError
from assay.flows.errors.truth import TruthFlowError
from assay.flows.identity.authenticate import confirm
from assay.flows.request import Content, Done, Option, Page, Paged, Request, cut_named, map_page
from assay.flows.tools import Tools
from assay.flows.truth.truth_key import introduce_truth_key
from assay.identity.caller import Caller
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.truth_store import ReleasedContract
from assay.truth.contract import Contract
from assay.truth.errors import TruthError
from assay.truth.form import ObservationForm, form_of
from assay.truth.key import TruthKey, parse_claim_type_id
from assay.truth.parse_contract import contract_from_document, parse_contract

ClaimTypeName = Annotated[
    str, Meta(description="A claim type, such as `earth.flood.v1`."), Option(metavar="CLAIM_TYPE")
]


class ReleaseContract(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    document: Annotated[
        str, Meta(description="The contract as YAML or JSON text."), Option(form="text_argument", metavar="FILE")
    ]
    schema_text: Annotated[
        str | None,
        Meta(description="The text of the JSON Schema that the contract's `output_schema_ref` names."),
        Option(flag="--schema", form="text", metavar="FILE"),
    ] = None


class ListContracts(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which page of the contracts."""


class ShowContract(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    claim_type: ClaimTypeName


class ContractItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A released contract without its text, and the entry that holds it."""

    claim_type: str
    claim_type_hash: str
    released_at: Instant
    released_by: str
    sequence_number: int


class ContractDetail(ContractItem, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A released contract with its canonical text."""

    document: str
    schema_text: str | None


def release_contract(tools: Tools, caller: Caller, request: ReleaseContract) -> Done[ContractItem]:
    """Release a contract: from then on its body never changes.

    The same body again changes nothing; another body under a released id is refused, since a change needs a new
    version.
    """
    schema = None if request.schema_text is None else request.schema_text.encode()
    contract = parse_contract(request.document, schema_bytes=schema, domain_systems=tools.domain_systems)
    tenant_id, by, at = caller.tenant_id, caller.principal.id, caller.at
    entry = contract_entry(
        tenant_id, contract, schema_text=request.schema_text, domain_systems=tools.domain_systems, by=by, at=at
    )
    # A node that releases a contract will sign states under it; its key goes on record before the first of them.
    introduce_truth_key(tools, tenant_id, at=at)

    def work(unit: Unit) -> Done[ContractItem]:
        confirm(unit, caller)
        known = unit.truth.find_contract(tenant_id, contract.id)
        if known is not None:
            _require_same(known, contract)
            return Done(value=_item(known), is_new=False)
        released = ReleasedContract(
            claim_type=contract.id,
            claim_type_hash=contract.claim_type_hash,
            document=contract.document,
            schema_text=request.schema_text,
            released_at=at,
            released_by=by,
            sequence_number=unit.record(entry).sequence_number,
        )
        project_contract(unit, tenant_id, contract, entry=released.sequence_number, by=by, at=at)
        return Done(value=_item(released))

    return tools.database.write(work)


def contracts(tools: Tools, caller: Caller, request: ListContracts) -> Page[ContractItem]:
    """List released contracts by claim type, without their texts."""
    known = tools.database.read(lambda unit: unit.truth.contracts(caller.tenant_id))
    page = cut_named("contracts", known, request.cursor, request.limit, lambda one: one.claim_type)
    return map_page(page, _item)


def contract(tools: Tools, caller: Caller, request: ShowContract) -> ContractDetail:
    """Show a released contract with its canonical text, which never changes."""
    found = _released(tools, caller, request.claim_type)
    return ContractDetail(document=found.document, schema_text=found.schema_text, **asdict(_item(found)))


def contract_document(tools: Tools, caller: Caller, request: ShowContract) -> Content:
    """Return the canonical document of a released contract, exactly as it is hashed."""
    found = _released(tools, caller, request.claim_type)
    return Content(body=found.document.encode(), etag=found.claim_type_hash, is_immutable=True)


def contract_form(tools: Tools, caller: Caller, request: ShowContract) -> ObservationForm:
    """Show what observers are asked for: members of the payload and their kinds, evidence, the kind of place."""
    found = _released(tools, caller, request.claim_type)
    return form_of(read_contract(found.document, found.schema_text, tools.domain_systems))


def _released(tools: Tools, caller: Caller, claim_type: str) -> ReleasedContract:
    found = tools.database.read(lambda unit: unit.truth.find_contract(caller.tenant_id, claim_type))
    if found is None:
        raise NotFoundError(f"`{caller.tenant_id}` has no contract `{claim_type[:80]}`")
    return found


def _item(one: ReleasedContract) -> ContractItem:
    return ContractItem(
        claim_type=one.claim_type,
        claim_type_hash=one.claim_type_hash,
        released_at=one.released_at,
        released_by=one.released_by,
        sequence_number=one.sequence_number,
    )


def _require_same(known: ReleasedContract, contract: Contract) -> None:
    if known.claim_type_hash != contract.claim_type_hash:
        raise TruthError.contract_changed(
            f"`{contract.id}` was released as {known.claim_type_hash}, got {contract.claim_type_hash}; "
            "a change needs a new version"
        )


def get_contract(unit: Unit, tenant_id: TenantId, claim_type: str) -> ReleasedContract:
    found = unit.truth.find_contract(tenant_id, claim_type)
    if found is None:
        raise TruthFlowError.not_released(f"expected a released contract, got `{claim_type[:80]}`: release it first")
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
