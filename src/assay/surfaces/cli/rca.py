"""`assay rca` and `assay pairs`: people conclude why a rule fails, and what is learnt from it."""

from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from assay.delivery.plugin import Category
from assay.flows.delivery.export_pairs import PairFormat
from assay.surfaces.cli.acting import columns, plain, read_session, session_option
from assay.surfaces.cli.output import Call, Group, ListCommand, tenant_option
from assay.surfaces.cli.text_file import read_text

if TYPE_CHECKING:
    from assay.ports.trainer import TrainingResult

__all__ = ["pairs", "rca"]

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.group(cls=Group)
def rca() -> None:
    """Root causes: failing rules that wait for a person's conclusion."""


@rca.command("list", cls=ListCommand)
@click.option("--all", "everything", is_flag=True, help="Those that are concluded, too.")
@tenant_option
@click.pass_obj
def _list(call: Call, tenant: str | None, *, everything: bool) -> None:
    """List root causes, the oldest first."""
    from assay.flows.delivery.inspect_delivery import list_items

    with call.open_node() as (tools, config):
        found = list_items(tools, call.tenant_of(config, tenant), open_only=not everything)
    rows = [
        (
            one.item.item_id,
            f"{one.item.rule.rule_id}@{one.item.rule.version}",
            str(one.item.reason),
            str(one.item.signals),
            "open" if one.conclusion is None else f"category {one.conclusion.failure_category}",
        )
        for one in found
    ]
    heads = ("ITEM", "RULE", "REASON", "SIGNALS", "STATE")
    call.answer_table(found, heads, rows, nothing="no root cause is open")


@rca.command("show")
@click.argument("item_id", metavar="ITEM")
@tenant_option
@click.pass_obj
def _show(call: Call, item_id: str, tenant: str | None) -> None:
    """Show a root cause as its ticket shows it, with the hash to conclude it by, and what came of it."""
    from assay.flows.delivery.inspect_delivery import show_item

    with call.open_node() as (tools, config):
        shown = show_item(tools, call.tenant_of(config, tenant), item_id)
    lines = [] if shown.ticket is None else [plain(shown.ticket.shown), f"--seen {shown.ticket.shown_hash}"]
    if shown.conclusion is not None:
        told = shown.conclusion
        lines.append(f"category {told.failure_category} by {told.concluded_by}: {plain(told.siddhanta)}")
        lines.append(f"training pair {shown.pair_id}")
    if shown.proposal is not None:
        lines.append(f"proposed by {shown.proposal.route}, ticket {shown.proposal_ticket_id}")
    call.answer(shown, "\n".join(lines) or "not before people yet")


@rca.command("conclude")
@click.argument("item_id", metavar="ITEM")
@click.option("--category", required=True, type=click.Choice([str(one) for one in Category]), help="A, B or C.")
@click.option("--siddhanta", required=True, metavar="TEXT", help="Your conclusion, in words.")
@click.option("--corrected-rule", "corrected", metavar="FILE", type=_FILE, help="The rule's corrected text, with C.")
@click.option("--sub-category", metavar="NAME", help="A finer category of your own.")
@click.option("--seen", required=True, metavar="HASH", help="The hash of what you were shown, as `show` prints it.")
@session_option
@click.pass_obj
def _conclude(
    call: Call,
    item_id: str,
    category: str,
    siddhanta: str,
    corrected: Path | None,
    sub_category: str | None,
    seen: str,
    session: str | None,
) -> None:
    """Conclude a root cause, as a person in session: it is closed, and a training pair is captured."""
    from assay.flows.delivery.conclude_rootcause import conclude_rootcause
    from assay.flows.delivery.inspect_delivery import show_item
    from assay.flows.delivery.tend_delivery import tend_delivery
    from assay.flows.identity.authenticate import authenticate
    from assay.kernel.digest import parse_digest

    token = read_session(session)
    text = None if corrected is None else read_text(corrected)
    with call.open_node(writable=True) as (tools, _):
        now = tools.clock.now()
        tenant_id = authenticate(tools, token, at=now).principal.tenant_id
        conclude_rootcause(
            tools,
            item_id,
            Category(category),
            siddhanta,
            seen=parse_digest(seen),
            corrected_rule=text,
            sub_category=sub_category,
            credential=token,
            at=now,
        )
        tend_delivery(tools, tenant_id, at=now)
        shown = show_item(tools, tenant_id, item_id)
    words = [f"{item_id} is closed", f"training pair {shown.pair_id}"]
    if shown.proposal_ticket_id is not None:
        words.append(f"the corrected rule waits for a second person: ticket {shown.proposal_ticket_id}")
    call.answer(shown, "\n".join(words))


@click.group(cls=Group)
def pairs() -> None:
    """Training pairs: what people concluded, for models to learn from."""


@pairs.command("export")
@click.option("--format", "form", type=click.Choice([str(one) for one in PairFormat]), default="json", help="A form.")
@click.option("--out", type=click.File("wb"), default="-", metavar="FILE", help="Else to standard output.")
@tenant_option
@click.pass_obj
def _export(call: Call, form: str, out: BinaryIO, tenant: str | None) -> None:
    """Write all pairs: `json` as specified, `chat` as conversations, `preferences` as chosen over rejected."""
    from assay.flows.delivery.export_pairs import export_pairs

    with call.open_node() as (tools, config):
        content = export_pairs(tools, call.tenant_of(config, tenant), PairFormat(form))
    out.write(content if content.endswith(b"\n") or not content else content + b"\n")


@pairs.command("train")
@click.option("--size", type=click.IntRange(1), metavar="N", help="A batch of this many pairs; else `pair_batch`.")
@tenant_option
@click.pass_obj
def _train(call: Call, size: int | None, tenant: str | None) -> None:
    """Make a job of every whole batch of pairs that waits, and have the trainer take all jobs, if there is one.

    The trainer is this node's judge unless `delivery.trainer` is `none`; it learns from pairs about its own cases. What
    it made is measured and on record; a person puts it into use with `assay model activate`.
    """
    from assay.flows.delivery.train_pairs import list_jobs, run_training, trigger_training

    with call.open_node(writable=True) as (tools, config):
        tenant_id, now = call.tenant_of(config, tenant), tools.clock.now()
        trigger_training(tools, tenant_id, size=size, at=now)
        run_training(tools, tenant_id, at=now)
        jobs = list_jobs(tools, tenant_id)
    rows: list[tuple[str, ...]] = [
        (one.job.job_id, f"{len(one.job.pair_ids)} pairs", *_came_of(one.result)) for one in jobs
    ]
    call.answer(jobs, columns(rows) if rows else "no whole batch waits")


def _came_of(result: "TrainingResult | None") -> tuple[str, str, str]:
    if result is None:
        return "waits", "", ""
    return str(result.state), result.model_version or "", result.reason


@pairs.command("measure")
@tenant_option
@click.pass_obj
def _measure(call: Call, tenant: str | None) -> None:
    """Measure the guesses of categories that root causes show, each pair guessed from those before it."""
    from assay.flows.delivery.suggest_category import measure_categories

    with call.open_node() as (tools, config):
        found = measure_categories(tools, call.tenant_of(config, tenant))
    words = f"{found.right} of {found.pairs} guessed right; always the commonest: {found.commonest_right}"
    call.answer(found, words if found.pairs else "too few pairs to guess from")
