"""Before a state is signed that counts votes: whether each is its voter's own, as its entry in the ledger proves it."""

from collections.abc import Iterable

from assay.flows.ledger.own_keys import own_key_ring_in
from assay.flows.tools import Tools
from assay.flows.truth.check_vote import verify_vote
from assay.flows.truth.replay_entry import GetEntry, read_bronze
from assay.flows.truth.vouch_rows import AlteredRowError
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.ports.database import Unit
from assay.ports.truth_store import RecordKind, TruthRecord


def vouch_votes(unit: Unit, tools: Tools, tenant_id: TenantId, records: Iterable[TruthRecord]) -> None:
    """Raise `truth.row_differs` for the first vote that nobody signed; `vouch_rows`, which follows, remembers them."""
    votes = [one for one in records if one.kind is RecordKind.VOTE]
    unseen = [one for one in tools.vouched.unseen(tenant_id, votes) if isinstance(one, TruthRecord)]
    if not unseen:
        return
    ring, get_entry = own_key_ring_in(unit, tools.founder), _entries(unit, tenant_id)
    for row in unseen:
        try:
            _, body = read_bronze(get_entry, row.sequence_number)
            verify_vote(body, get_entry, ring)
        except Error as error:
            raise AlteredRowError(f"the vote of entry {row.sequence_number}: {error} [{error.code}]") from error


def _entries(unit: Unit, tenant_id: TenantId) -> GetEntry:
    return lambda number: unit.ledger.texts(tenant_id, [number]).get(number)
