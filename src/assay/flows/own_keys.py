"""The node's own keys, as trust sees them: what its first ledger key vouches for, directly or by rotation."""

from assay.flows.tools import Tools
from assay.kernel.key import KeyRing, TrustAnchors, trusted_keys
from assay.ports.database import Unit

__all__ = ["own_key_ring", "own_key_ring_in"]


def own_key_ring(tools: Tools) -> KeyRing:
    """Every key of this node, with its validity; the anchors are the operator's, or else the node's first key."""
    return tools.database.read(lambda unit: own_key_ring_in(unit, tools.anchors))


def own_key_ring_in(unit: Unit, anchors: TrustAnchors) -> KeyRing:
    """The same, as one unit of work sees it."""
    endorsements, retirements = unit.keys.endorsements(), unit.keys.retirements()
    if not anchors.all_key_ids:
        # Auditing itself, a node believes the key its folder was founded with; anybody else must be given one.
        founders = frozenset(fact.endorsed_by for fact in endorsements[:1])
        anchors = TrustAnchors(key_ids=founders)
    return trusted_keys(anchors, endorsements, retirements)
