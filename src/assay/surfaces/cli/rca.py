"""`assay rca` and `assay pairs`: people conclude why a rule fails, and what is learnt from it."""

from typing import TYPE_CHECKING

import click

from assay.operations.delivery import OPERATIONS
from assay.operations.shown.text import columns
from assay.surfaces.cli.derive import add_operations
from assay.surfaces.cli.output import Call, Group, tenant_option

if TYPE_CHECKING:
    from assay.ports.trainer import TrainingResult


@click.group(cls=Group)
def rca() -> None:
    """Root causes: failing rules that wait for a person's conclusion."""


add_operations(rca, "rca", OPERATIONS)


@click.group(cls=Group)
def pairs() -> None:
    """Training pairs: what people concluded, for models to learn from."""


add_operations(pairs, "pairs", OPERATIONS)


@pairs.command("train")
@click.option("--size", type=click.IntRange(1), metavar="N", help="A batch of this many pairs; else `pair_batch`.")
@tenant_option
@click.pass_obj
def _train(call: Call, size: int | None, tenant: str | None) -> None:
    """Make a job of every whole batch of pairs that waits, and have the trainer take all jobs, if there is one.

    The trainer is this node's judge unless `delivery.trainer` is `none`; it learns from pairs about its own cases. What
    it made is measured and on record; a person puts it into use with `assay model activate`.
    """
    from assay.flows.delivery.training import list_jobs, run_training, trigger_training

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
