"""Before a state is given out: whether its row is its entry, and what it says is what this node signed.

rows -> those not looked at before -> their entries -> hashes and signature, by a key valid for truth when it signed
"""

from collections.abc import Iterable

from msgspec import Struct

from assay.flows.ledger.own_keys import own_key_ring_in
from assay.flows.tools import Tools
from assay.flows.truth.replay_entry import ReplayCode
from assay.flows.truth.replay_state import signature_problems
from assay.flows.truth.vouch_rows import AlteredRowError, vouch_states
from assay.kernel.ids import TenantId
from assay.ports.database import Unit
from assay.ports.truth_store import SilverState
from assay.truth.state import parse_truth_state


class _Signed(Struct, frozen=True, kw_only=True):
    """A row whose signature was checked, which is more than being its entry."""

    row: SilverState


def vouch_gold(unit: Unit, tools: Tools, tenant_id: TenantId, states: Iterable[SilverState]) -> None:
    """Raise `truth.row_differs` for the first that is not as it was signed; each is looked at once in a process.

    A signature that only the holder of a secret can check is left to its holder.
    """
    given = [_Signed(row=one) for one in states]
    unseen = [one for one in tools.vouched.unseen(tenant_id, given) if isinstance(one, _Signed)]
    if not unseen:
        return
    vouch_states(unit, tools.vouched, tenant_id, [one.row for one in unseen])
    ring = own_key_ring_in(unit, tools.founder)
    for one in unseen:
        problems = signature_problems(parse_truth_state(one.row.text), ring, tools.truth_signer)
        wrong = [problem for problem in problems if problem.code != ReplayCode.NOT_CHECKED]
        if wrong:
            raise AlteredRowError(
                f"expected the state of entry {one.row.sequence_number} as it was signed: {wrong[0].message}"
            )
    tools.vouched.add(tenant_id, unseen)
