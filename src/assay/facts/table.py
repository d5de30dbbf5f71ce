"""All facts and all tables of the database; nothing registers itself."""

from assay.facts import claims, delivery, identity, ledger, model, permits, registry, review, trust, truth, verdicts
from assay.facts.projector import DeclaredProjector

_ROOMS = (ledger, identity, review, truth, trust, verdicts, model, claims, permits, delivery, registry)
FACTS = tuple(fact for room in _ROOMS for fact in room.FACTS)
TABLES = tuple(table for room in _ROOMS for table in room.TABLES)
VIEWS = (*identity.VIEWS, *verdicts.VIEWS)
PROJECTOR = DeclaredProjector(FACTS, TABLES, VIEWS)
