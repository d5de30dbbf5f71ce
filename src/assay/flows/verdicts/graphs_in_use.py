"""Whether this node judges at all: a knowledge graph is in use for some tenant."""

from assay.flows.tools import Tools
from assay.ports.database import Unit


def has_graph_in_use(tools: Tools) -> bool:
    def look(unit: Unit) -> bool:
        return any(unit.graphs.find_active(tenant_id) is not None for tenant_id in unit.ledger.tenants())

    return tools.database.read(look)
