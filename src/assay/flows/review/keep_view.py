"""Saved views: filters of the queue under a name, for one person or for everybody at the desk.

A view decides nothing and hides nothing that its reader may see, so it is in no ledger.
"""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from assay.flows.identity.authenticate import confirm
from assay.flows.request import Option, Page, Request
from assay.flows.review.answer_review import require_reviewing
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.identity.principal import Principal
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.desk_store import SavedView
from assay.review.errors import ReviewError
from assay.review.queue import QueueFilter

_LONGEST_NAME = 80


_ViewName = Annotated[str, Meta(description="The name of the view."), Option(metavar="NAME")]


class ListViews(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class KeepView(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: _ViewName
    filter: Annotated[QueueFilter, Meta(description="Which tickets it shows."), Option(form="flat")]
    shared: Annotated[bool, Meta(description="Everybody at the desk may use it.")] = False


class DropView(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: _ViewName


class KeptView(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A saved view; only its owner, `by`, changes or drops it."""

    name: str
    by: PrincipalId
    shared: bool
    filter: QueueFilter
    saved_at: Instant


class Dropped(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """It is gone."""

    dropped: bool = True


def views(tools: Tools, caller: Caller, request: ListViews) -> Page[KeptView]:  # noqa: ARG001 - as every flow
    """List the caller's saved views, and those that others share."""
    return Page(items=_usable(tools, caller))


def keep_view(tools: Tools, caller: Caller, request: KeepView) -> KeptView:
    """Save a filter of the queue under a name, in place of the caller's view of that name."""
    name = request.name
    if not 1 <= len(name) <= _LONGEST_NAME or not name.isprintable() or not name.strip():
        raise ReviewError.view(f"expected a name of 1 to {_LONGEST_NAME} printable characters, got {name[:80]!r}")

    def work(unit: Unit) -> KeptView:
        owner = _owner(unit, caller)
        text = msgspec.json.encode(request.filter).decode()
        row = SavedView(by=owner.id, name=name, shared=int(request.shared), text=text, saved_at=caller.at)
        unit.desk.save_view(caller.tenant_id, row)
        return _kept(row)

    return tools.database.write(work)


def drop_view(tools: Tools, caller: Caller, request: DropView) -> Dropped:
    """Delete a saved view of the caller's own."""

    def work(unit: Unit) -> Dropped:
        owner = _owner(unit, caller)
        if unit.desk.find_view(caller.tenant_id, owner.id, request.name) is None:
            raise ReviewError.view(f"`{owner.id}` has no view `{request.name[:80]}`")
        unit.desk.drop_view(caller.tenant_id, owner.id, request.name)
        return Dropped()

    return tools.database.write(work)


def find_view(tools: Tools, caller: Caller, name: str) -> KeptView:
    """Return the view of that name: the caller's own first; of several that are shared, the first by owner."""
    by = caller.principal.id
    found = [one for one in _usable(tools, caller) if one.name == name]
    if not found:
        raise ReviewError.view(f"expected a view that `{by}` may use, got `{name[:80]}`")
    return min(found, key=lambda one: (one.by != by, one.by))


def _usable(tools: Tools, caller: Caller) -> tuple[KeptView, ...]:
    return tuple(map(_kept, tools.database.read(lambda unit: unit.desk.views(caller.tenant_id, caller.principal.id))))


def _owner(unit: Unit, caller: Caller) -> Principal:
    require_reviewing(caller)
    return confirm(unit, caller).principal


def _kept(row: SavedView) -> KeptView:
    try:
        wanted = msgspec.json.decode(row.text, type=QueueFilter)
    except msgspec.MsgspecError as error:
        raise DamagedRecordError(f"the view `{row.name}` of `{row.by}` cannot be read: {error}") from error
    return KeptView(name=row.name, by=row.by, shared=bool(row.shared), filter=wanted, saved_at=row.saved_at)
