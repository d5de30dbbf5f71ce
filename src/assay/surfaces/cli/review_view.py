"""`assay review view`: filters of the queue under a name, for oneself or for everybody at the desk."""

from typing import Unpack

import click

from assay.flows.review.keep_view import drop_view, keep_view, list_views
from assay.surfaces.cli.acting import plain, read_session, session_option, session_person
from assay.surfaces.cli.output import Call, Group, ListCommand
from assay.surfaces.cli.review_filter import FilterOptions, filter_options, parse_filter

__all__ = ["drop", "list_", "save", "view"]


@click.group(cls=Group)
def view() -> None:
    """Saved views: filters of the queue under a name, private unless they are shared."""


@view.command()
@click.argument("name")
@click.option("--shared", is_flag=True, help="Everybody at the desk may use it.")
@filter_options
@session_option
@click.pass_obj
def save(call: Call, /, *, name: str, shared: bool, session: str | None, **options: Unpack[FilterOptions]) -> None:
    """Keep a filter as NAME, in place of your own one of that name."""
    token = read_session(session)
    with call.open_node(writable=True) as (tools, _):
        at = tools.clock.now()
        kept = keep_view(tools, name, parse_filter(options), shared=shared, credential=token, at=at)
    call.answer(kept, f"kept; `assay review list --view {plain(name)}` uses it")


@view.command(name="list", cls=ListCommand)
@session_option
@click.pass_obj
def list_(call: Call, session: str | None) -> None:
    """Your views, and those that others share."""
    token = read_session(session)
    with call.open_node() as (tools, _):
        person = session_person(tools, token, at=tools.clock.now())
        found = list_views(tools, person.tenant_id, person.id)
    rows = [(plain(one.name), one.by, "shared" if one.shared else "private") for one in found]
    call.answer_table(found, ("NAME", "OWNER", "FOR"), rows, nothing="no view is kept")


@view.command()
@click.argument("name")
@session_option
@click.pass_obj
def drop(call: Call, name: str, session: str | None) -> None:
    """Forget your view NAME."""
    token = read_session(session)
    with call.open_node(writable=True) as (tools, _):
        drop_view(tools, name, credential=token, at=tools.clock.now())
    call.answer({"dropped": name}, "forgotten")
