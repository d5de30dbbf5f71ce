"""Make the file that proves a state to somebody with nothing but a key they trust, who can compile it again."""

from collections.abc import Iterable, Iterator

from assay.flows.errors import NotFoundError
from assay.flows.ledger.prove_record import bundle_of
from assay.flows.tools import Tools
from assay.flows.truth.check_vote import voter_entry_of
from assay.flows.truth.replay_entry import GetEntry, read_bronze, read_state
from assay.flows.truth.replay_truth import find_silver, ledger_entries
from assay.kernel.bundle import Attachment, Bundle
from assay.kernel.digest import digest_of
from assay.kernel.ids import TenantId
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit

ENTRY_ATTACHMENT = "assay-ledger-entry"
# As canonical bytes write it; inside a text the quotes would be escaped.
_VOTE = f'"kind":"{EntryKind.VOTE_CAST}"'.encode()


def prove_truth(
    tools: Tools,
    tenant_id: TenantId,
    *,
    state_hash: str | None = None,
    truthkey: str | None = None,
    version: int | None = None,
) -> Bundle:
    """The state's entry with its proof, and every entry it was compiled from; `replay_bundle` needs nothing else.

    Those entries are bound by the state itself, which names each input by its hash; with a vote goes the entry that
    says who the voter was.
    """

    def work(unit: Unit) -> Bundle:
        silver = find_silver(unit, tenant_id, state_hash=state_hash, truthkey=truthkey, version=version)
        get_entry = ledger_entries(unit, tenant_id)
        _, body = read_state(get_entry, silver.sequence_number)
        voters = _voters(get_entry, body.inputs.records)
        numbers = sorted({body.inputs.contract, body.inputs.snapshot, *body.inputs.records, *voters})
        attachments = tuple(_attachment(number, get_entry(number)) for number in numbers)
        with tools.tiles.borrow(unit, tenant_id) as cache:
            return bundle_of(unit, tenant_id, silver.sequence_number, attachments=attachments, cache=cache)

    return tools.database.read(work)


def _voters(get_entry: GetEntry, records: Iterable[int]) -> Iterator[int]:
    """A key has many observations and few votes: only these are read whole."""
    for number in records:
        if _VOTE in (get_entry(number) or b""):
            voter = voter_entry_of(read_bronze(get_entry, number)[1])
            if voter is not None:
                yield voter


def _attachment(number: int, text: bytes | None) -> Attachment:
    if text is None:
        raise NotFoundError(f"the ledger has no entry {number}, which the state was compiled from")
    return Attachment(kind=ENTRY_ATTACHMENT, name=f"entry-{number:09d}.json", sha256=digest_of(text), content=text)
