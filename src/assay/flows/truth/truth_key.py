"""The key that truth states are signed with: put on record before its first use, and asked for by all who sign."""

from assay.flows.errors.truth import NoTruthKeyError
from assay.flows.ledger.found_node import endorse, record_key
from assay.flows.ledger.own_keys import has_key_for, own_key_ring_in
from assay.flows.tools import Tools
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.key import KeyPurpose
from assay.ports.database import Unit
from assay.ports.signer import Signer


def get_truth_signer(tools: Tools) -> Signer:
    if tools.truth_signer is None:
        raise NoTruthKeyError("expected a truth key in assay.toml, got none: make one with `assay key rotate truth`")
    return tools.truth_signer


def introduce_truth_key(tools: Tools, tenant_id: TenantId, *, at: Instant) -> None:
    """The ledger key vouches for the truth key, once: a node that compiles nothing has none on record."""
    signer = get_truth_signer(tools)
    if tools.database.read(lambda unit: _is_recorded(unit, tools)):
        return
    # Valid for what the caller is about to sign, and now: callers read the clock before they come here.
    since = min(at, tools.clock.now())
    endorsement = endorse(tools, signer, KeyPurpose.TRUTH, since)

    def work(unit: Unit) -> None:
        if not _is_recorded(unit, tools):
            record_key(unit, tenant_id, endorsement, at=since)

    tools.database.write(work)


def _is_recorded(unit: Unit, tools: Tools) -> bool:
    return has_key_for(own_key_ring_in(unit, tools.founder), KeyPurpose.TRUTH)
