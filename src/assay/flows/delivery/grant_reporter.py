"""An operator says for which rules a principal may report outcomes (PRAMANA 14.2); nobody may by default."""

from collections.abc import Iterable

from assay.delivery.outcome import ReporterGrant
from assay.flows.delivery.delivery_entry import delivery_entry, news, text_of
from assay.flows.identity.admit_principal import admit_principal
from assay.flows.known import get_principal
from assay.flows.tools import Tools
from assay.identity.principal import BuiltInRole
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.delivery_store import GrantedReporter

__all__ = ["grant_reporter"]


def grant_reporter(
    tools: Tools, principal_id: PrincipalId, rules: Iterable[str], *, credential: str, at: Instant
) -> ReporterGrant:
    """Ids, or a prefix and `*`; it replaces what was granted before, and no rules take everything away."""
    grant = ReporterGrant(principal_id=principal_id, rules=tuple(dict.fromkeys(rules)))

    def work(unit: Unit) -> ReporterGrant:
        by = admit_principal(unit, credential, any_of=[BuiltInRole.OPERATOR], at=at)
        get_principal(unit, by.tenant_id, principal_id)
        told = {"principal_id": principal_id, "rules": list(grant.rules)}
        event = news(EntryKind.REPORTER_GRANTED, principal_id, told)
        draft = delivery_entry(
            by.tenant_id, EntryKind.REPORTER_GRANTED, {**told, "granted_by": by.id}, at=at, events=(event,)
        )
        row = GrantedReporter(
            principal_id=principal_id,
            text=text_of(grant),
            by=by.id,
            sequence_number=unit.ledger.append(draft).sequence_number,
        )
        unit.delivery.add_grant(by.tenant_id, row)
        return grant

    return tools.database.write(work)
