"""`assay agreement`: how often the verifier agrees with the model, and whether that is enough (SKI 9.2)."""

import click

from assay.flows.verdicts.coverage import check_agreement
from assay.kernel.errors import Blame
from assay.surfaces.cli.acting import columns
from assay.surfaces.cli.output import EXIT_CODES, Call, NodeCommand, tenant_option
from assay.verdicts.agreement import Canary, CanaryStatus

_NO = EXIT_CODES[Blame.ANSWER]
_WORDS = {
    CanaryStatus.HEALTHY: "healthy: the rate is above the threshold",
    CanaryStatus.DEGRADED: "DEGRADED: the rate is not above the threshold; look at the verdicts that diverged",
    CanaryStatus.NO_DATA: "nothing was compared yet, so nothing is known to be healthy",
}


@click.command(cls=NodeCommand)
@tenant_option
@click.pass_context
def agreement(context: click.Context, tenant: str | None) -> None:
    """The neuro-symbolic agreement rate over the latest verdicts for which a model was asked, and its threshold.

    Exit 0 while it is healthy; 1 when it is degraded, and when nothing was compared yet.
    """
    call: Call = context.obj
    with call.open_node() as (tools, config):
        canary = check_agreement(tools, call.tenant_of(config, tenant))
    call.answer(canary, columns(_facts(canary)))
    context.exit(0 if canary.is_healthy else _NO)


def _facts(canary: Canary) -> list[tuple[str, ...]]:
    rate = "none" if canary.agreement_rate is None else f"{canary.agreement_rate * 100:.3f} %"
    return [
        ("status", _WORDS[canary.status]),
        ("rate", rate),
        ("threshold", f"{canary.threshold * 100:g} %"),
        ("window", f"the latest {canary.window_size}, of which {canary.observed} are there"),
        *((name, str(count)) for name, count in canary.counts.items()),
    ]
