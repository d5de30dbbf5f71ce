"""`assay query`: the registry of questions, and answers that fell short of it."""

import click

from assay.delivery.level import Level
from assay.surfaces.cli.acting import credential_option, read_credential
from assay.surfaces.cli.output import Call, Group, ListCommand, tenant_option

__all__ = ["query"]

_HONEST_NO = 1


@click.group(cls=Group)
def query() -> None:
    """The query registry: which kinds of question there are, and how well founded their answers should be."""


@query.command("list", cls=ListCommand)
@tenant_option
@click.pass_obj
def _list_queries(call: Call, tenant: str | None) -> None:
    """List the kinds of question in force."""
    from assay.flows.delivery.register_query import load_queries

    with call.open_node() as (tools, config):
        tenant_id = call.tenant_of(config, tenant)
        found = tools.database.read(lambda unit: load_queries(unit, tenant_id))
    kinds = [found.types[slug] for slug in found.can_answer()]
    rows = [(one.slug, one.domain, str(one.expected_level), one.answerer, ", ".join(one.rules)) for one in kinds]
    heads = ("QUERY TYPE", "DOMAIN", "LEVEL", "ANSWERER", "RULES")
    call.answer_table(kinds, heads, rows, nothing="no kind of question is registered")


@query.command("shortfalls", cls=ListCommand)
@click.option("--of", "slug", metavar="QUERY_TYPE", help="Of one kind of question.")
@click.option("--after", type=click.IntRange(0), default=0, metavar="ENTRY", help="Recorded after this entry.")
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True)
@tenant_option
@click.pass_context
def _shortfalls(context: click.Context, slug: str | None, after: int, limit: int, tenant: str | None) -> None:
    """List answers below the level that their kind should reach, the oldest first; exit 1 if there is one."""
    from assay.flows.delivery.inspect_outcomes import list_shortfalls

    call: Call = context.obj
    with call.open_node() as (tools, config):
        found = list_shortfalls(tools, call.tenant_of(config, tenant), after=after, limit=limit, slug=slug)
    rows = [
        (
            one.answer_id,
            one.query_type,
            f"{one.level} of {one.expected_level}",
            ", ".join(one.strands_missing),
            one.owner or "",
        )
        for one in found
    ]
    heads = ("ANSWER", "QUERY TYPE", "LEVEL", "MISSING", "OWNER")
    call.answer_table(found, heads, rows, nothing="no answer fell short")
    if found:
        context.exit(_HONEST_NO)


@query.command("add")
@click.argument("slug", metavar="QUERY_TYPE")
@click.option("--description", required=True, metavar="TEXT", help="What is asked, for people.")
@click.option("--domain", required=True, metavar="NAME", help="For which its rules must be authoritative.")
@click.option("--expect", "level", type=click.Choice([str(one) for one in Level]), default="PRAMANA-2", help="A level.")
@click.option("--answerer", metavar="NAME", help="`rule`, `verdict`, `truth`, or a function's; else QUERY_TYPE itself.")
@click.option("--rule", "names", multiple=True, metavar="RULE", help="On which answers rest. Repeatable.")
@credential_option
@click.pass_obj
def _add_query(
    call: Call,
    slug: str,
    description: str,
    domain: str,
    level: str,
    answerer: str | None,
    names: tuple[str, ...],
    credential: str | None,
) -> None:
    """Record the next version of QUERY_TYPE; its rules must be in the rule registry."""
    from assay.flows.delivery.register_query import register_query

    token = read_credential(credential)
    with call.open_node(writable=True) as (tools, _):
        kind = register_query(
            tools,
            slug,
            description=description,
            domain=domain,
            expected_level=Level(level),
            answerer=answerer or slug,
            rules=names,
            credential=token,
            at=tools.clock.now(),
        )
    call.answer(kind, f"{kind.slug}@{kind.version}")
