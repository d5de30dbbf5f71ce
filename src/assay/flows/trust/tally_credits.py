"""What agents have earned: the credits of the contracts, by the last final state of each key.

log of signals -> TRUTHSTATE_EMITTED, the last of each key -> its contract's credits -> points by agent
"""

from collections.abc import Iterable
from decimal import Decimal

from msgspec import Struct

from assay.flows.tools import Tools
from assay.flows.trust.fold_trust import vouched_signals
from assay.flows.truth.load_truth import read_released
from assay.flows.truth.released import get_contract
from assay.kernel.ids import TenantId
from assay.ports.database import Unit
from assay.trust.credit import credits_of
from assay.trust.judge import judges
from assay.trust.signal import SignalKind, TruthstateEmitted, read_stored_signal
from assay.truth.contract import Contract
from assay.truth.number import ARITHMETIC


class EarnedCredits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`keys` is at how many keys they were earned."""

    agent_id: str
    credits: Decimal
    keys: int


class Credits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Those who earned something, sorted by id; `through` is the entry of the newest state that paid."""

    through: int
    agents: tuple[EarnedCredits, ...]


def tally_credits(tools: Tools, tenant_id: TenantId, *, agents: Iterable[str] | None = None) -> Credits:
    """The credits of all agents, or of some. Reads the whole log: a key's later final state replaces the earlier.

    A row of the log that is not its entry's signal is refused.
    """
    chosen = None if agents is None else frozenset(agents)

    def work(unit: Unit) -> Credits:
        through, last = _last_states(unit, tenant_id)
        contracts: dict[str, Contract] = {}
        earned: dict[str, tuple[Decimal, int]] = {}
        for emitted in last.values():
            contract = _contract(unit, tools, tenant_id, contracts, emitted.claim_type)
            for agent_id, points in credits_of(contract.credits, emitted).items():
                if chosen is None or agent_id in chosen:
                    total, keys = earned.get(agent_id, (Decimal(0), 0))
                    earned[agent_id] = ARITHMETIC.add(total, points), keys + 1
        told = [EarnedCredits(agent_id=name, credits=total, keys=keys) for name, (total, keys) in earned.items()]
        return Credits(through=through, agents=tuple(sorted(told, key=lambda one: one.agent_id)))

    return tools.database.read(work)


def _last_states(unit: Unit, tenant_id: TenantId) -> tuple[int, dict[str, TruthstateEmitted]]:
    through, last = 0, dict[str, TruthstateEmitted]()
    for row in vouched_signals(unit, tenant_id):
        if row.kind != SignalKind.TRUTHSTATE_EMITTED:
            continue
        emitted = read_stored_signal(row.kind, row.text).object
        # One that only says that a claim grew old takes nothing back.
        if isinstance(emitted, TruthstateEmitted) and judges(emitted):
            through, last[emitted.truthkey] = row.sequence_number, emitted
    return through, last


def _contract(unit: Unit, tools: Tools, tenant_id: TenantId, known: dict[str, Contract], claim_type: str) -> Contract:
    if claim_type not in known:
        known[claim_type] = read_released(tools, get_contract(unit, tenant_id, claim_type))
    return known[claim_type]
