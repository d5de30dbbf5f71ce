"""Which version of a contract speaks for a key: agents without weight cannot change it.

asked for by an operator | of the state in force | the newest that somebody who is heard reported under | the newest
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.json import Decoder

from assay.flows.errors.truth import NotReleasedError
from assay.flows.tools import Tools
from assay.flows.trust.fold_shelf import Folded
from assay.flows.trust.take_snapshot import take_snapshot
from assay.flows.truth.released import find_contracts_of, get_contract, read_contract
from assay.flows.truth.vouch_rows import vouch_states
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.truth_store import RecordKind, ReleasedContract, TruthRecord
from assay.truth.key import parse_truth_key
from assay.truth.status import TruthStatus


def choose_contract(
    unit: Unit,
    tools: Tools,
    tenant_id: TenantId,
    truthkey: str,
    records: Sequence[TruthRecord],
    *,
    at: Instant,
    asked: str | None = None,
    through: int | None = None,
    folded: Folded | None = None,
) -> ReleasedContract:
    """The one version that decides about a key, which itself names none and may have observations under several.

    Once a state says something, it is that state's version, until an operator asks for another.
    """
    in_force = asked or _in_force(unit, tools, tenant_id, truthkey)
    if in_force is not None:
        return get_contract(unit, tenant_id, in_force)
    key = parse_truth_key(truthkey)
    known = find_contracts_of(unit, tenant_id, key)
    if not known:
        raise NotReleasedError(f"expected a released contract for `{key.domain}.{key.topic}`, got none")
    reporters = _reporters_by_claim_type(records)
    named = [one for one in known if one.claim_type in reporters]
    for one in named if len(named) > 1 else ():
        contract, agents = read_contract(one.document, one.schema_text, tools.domain_systems), reporters[one.claim_type]
        trust, _ = take_snapshot(unit, tools, tenant_id, agents, one.claim_type, at=at, through=through, folded=folded)
        weights = trust.weights(contract.role_weights)
        if any(weights[agent] for agent in agents):
            return one
    return (named or known)[0]


def _in_force(unit: Unit, tools: Tools, tenant_id: TenantId, truthkey: str) -> str | None:
    """The claim type of the last state that says something, as the ledger has it; one that was made without
    observations binds nobody.
    """
    last = unit.truth.find_state(tenant_id, truthkey)
    if last is None:
        return None
    known = (last,) if last.status != TruthStatus.UNVERIFIED else unit.truth.history(tenant_id, truthkey)
    vouch_states(unit, tools.vouched, tenant_id, known)
    said = (one for one in reversed(known) if one.status != TruthStatus.UNVERIFIED)
    return next((one.claim_type for one in said), None)


def _reporters_by_claim_type(records: Iterable[TruthRecord]) -> dict[str, set[str]]:
    """Who reported under each version."""
    found: dict[str, set[str]] = {}
    for one in records:
        if one.kind is RecordKind.OBSERVATION:
            found.setdefault(_SAID.decode(one.text).claim_type, set()).add(one.by)
    return found


class _Said(Struct):
    """The one member of an observation's text that is asked for here."""

    claim_type: str


_SAID = Decoder(_Said)
