"""A person keeps a filter of the queue under a name: for themselves, or for everybody at the desk.

A view decides nothing and hides nothing that its reader may see, so it is in no ledger.
"""

import msgspec
from msgspec import Struct

from assay.flows.identity.authenticate import authenticate_in, require_session
from assay.flows.tools import Tools
from assay.identity.principal import Principal
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.desk_store import SavedView
from assay.review.errors import MachineAnswerError, ViewError
from assay.review.queue import QueueFilter

__all__ = ["KeptView", "drop_view", "find_view", "keep_view", "list_views"]

_LONGEST_NAME = 80


class KeptView(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`by` is its owner, who alone changes or drops it."""

    name: str
    by: PrincipalId
    shared: bool
    filter: QueueFilter
    saved_at: Instant


def keep_view(tools: Tools, name: str, wanted: QueueFilter, *, shared: bool, credential: str, at: Instant) -> KeptView:
    """In place of the owner's one of that name."""
    if not 1 <= len(name) <= _LONGEST_NAME or not name.isprintable() or not name.strip():
        raise ViewError(f"expected a name of 1 to {_LONGEST_NAME} printable characters, got {name[:80]!r}")

    def work(unit: Unit) -> KeptView:
        owner = _owner(unit, credential, at)
        text = msgspec.json.encode(wanted).decode()
        row = SavedView(by=owner.id, name=name, shared=int(shared), text=text, saved_at=at)
        unit.desk.save_view(owner.tenant_id, row)
        return _kept(row)

    return tools.database.write(work)


def drop_view(tools: Tools, name: str, *, credential: str, at: Instant) -> None:
    def work(unit: Unit) -> None:
        owner = _owner(unit, credential, at)
        if unit.desk.find_view(owner.tenant_id, owner.id, name) is None:
            raise ViewError(f"`{owner.id}` has no view `{name[:80]}`")
        unit.desk.drop_view(owner.tenant_id, owner.id, name)

    tools.database.write(work)


def list_views(tools: Tools, tenant_id: TenantId, by: PrincipalId) -> tuple[KeptView, ...]:
    """This person's own, and those that others share."""
    return tuple(map(_kept, tools.database.read(lambda unit: unit.desk.views(tenant_id, by))))


def find_view(tools: Tools, tenant_id: TenantId, by: PrincipalId, name: str) -> KeptView:
    """One's own goes before one that is shared; of several that are shared, the first by owner."""
    found = [one for one in list_views(tools, tenant_id, by) if one.name == name]
    if not found:
        raise ViewError(f"expected a view that `{by}` may use, got `{name[:80]}`")
    return min(found, key=lambda one: (one.by != by, one.by))


def _owner(unit: Unit, credential: str, at: Instant) -> Principal:
    proved = authenticate_in(unit, credential, at=at)
    if not proved.principal.is_person():
        raise MachineAnswerError(f"expected a person, got {proved.principal.kind} `{proved.principal.id}`")
    require_session(proved)
    return proved.principal


def _kept(row: SavedView) -> KeptView:
    try:
        wanted = msgspec.json.decode(row.text, type=QueueFilter)
    except msgspec.MsgspecError as error:
        raise DamagedRecordError(f"the view `{row.name}` of `{row.by}` cannot be read: {error}") from error
    return KeptView(name=row.name, by=row.by, shared=bool(row.shared), filter=wanted, saved_at=row.saved_at)
