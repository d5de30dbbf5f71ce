"""Contracts as they are sent and taken, on every route and by the client; no web framework is needed for it."""

from msgspec import Struct

from assay.kernel.instant import render_instant
from assay.ports.truth_store import ReleasedContract


class ContractRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A contract as YAML or JSON text, and the text of the schema that it refers to, if it does."""

    document: str
    schema_text: str | None = None

    @property
    def schema(self) -> bytes | None:
        return None if self.schema_text is None else self.schema_text.encode()


class ShownContract(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which contract was released, by whom, and the entry that holds it."""

    claim_type: str
    claim_type_hash: str
    released_at: str
    released_by: str
    sequence_number: int


class WholeContract(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The same with its canonical text."""

    contract: ShownContract
    document: str
    schema_text: str | None


class ContractPage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    items: tuple[ShownContract, ...]
    next: str | None


def shown_contract(contract: ReleasedContract) -> ShownContract:
    return ShownContract(
        claim_type=contract.claim_type,
        claim_type_hash=contract.claim_type_hash,
        released_at=render_instant(contract.released_at),
        released_by=contract.released_by,
        sequence_number=contract.sequence_number,
    )


def whole_contract(contract: ReleasedContract) -> WholeContract:
    return WholeContract(
        contract=shown_contract(contract), document=contract.document, schema_text=contract.schema_text
    )
