"""`assay trust`: policies, signals, and the standing of agents."""

from pathlib import Path

import click
from msgspec.structs import replace

from assay.operations.trust import OPERATIONS
from assay.surfaces.cli.acting import columns
from assay.surfaces.cli.contract_file import domain_option, read_contract_files
from assay.surfaces.cli.derive import add_operations
from assay.surfaces.cli.output import Call, Command, Group
from assay.surfaces.cli.sink import write_output
from assay.surfaces.cli.trust_policy import policy, read_policy_file
from assay.trust.attack import AttackKind, AttackReport, AttackRequest, simulate_attacks
from assay.trust.plot_attacks import render_attacks

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


_KIND = click.Choice([one.value for one in AttackKind])


_USUAL = AttackRequest()


@click.command(cls=Command)
@click.argument("contract", type=_FILE, metavar="CONTRACT")
@click.argument("policy", type=_FILE, metavar="POLICY")
@click.option("--parent", "parents", type=_FILE, multiple=True, metavar="FILE", help="A policy that POLICY extends.")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice([one.value for one in AttackKind]),
    help="Only this attack; repeatable.",
)
@click.option("--honest", type=click.IntRange(1, 1000), default=_USUAL.honest, show_default=True, help="Honest agents.")
@click.option("--attackers", type=click.IntRange(1, 1000), default=_USUAL.attackers, show_default=True)
@click.option("--seed", default=_USUAL.seed, show_default=True, help="Another seed is another run of the same crowd.")
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Draw the lies, as SVG.")
@domain_option
@click.pass_obj
def simulate(
    call: Call,
    /,
    *,
    contract: Path,
    policy: Path,
    parents: tuple[Path, ...],
    kinds: tuple[str, ...],
    honest: int,
    attackers: int,
    seed: str,
    plot: Path | None,
    domains: dict[str, str],
) -> None:
    """Run a crowd with attackers under CONTRACT and POLICY: lies believed, honest agents harmed, time to recovery."""
    ((_, law),) = read_contract_files(call, [contract], domains)
    asked = replace(_USUAL, honest=honest, attackers=attackers, seed=seed)
    if kinds:
        asked = replace(asked, kinds=tuple(map(AttackKind, kinds)))
    report = simulate_attacks(law, read_policy_file(policy, parents), asked)
    if plot is not None:
        write_output(plot, render_attacks(report).encode())
        call.say(f"wrote {plot}")
    call.answer(report, _text(report))


def _text(report: AttackReport) -> str:
    rows = [
        (
            one.kind.value,
            str(one.lies),
            str(one.believed),
            str(one.verified),
            str(one.harmed),
            "never" if one.recovery is None else str(one.recovery),
        )
        for one in report.attacks
    ]
    return columns([("ATTACK", "LIES", "BELIEVED", "VERIFIED", "HONEST HARMED", "RECOVERY"), *rows])


@click.group(cls=Group)
def trust() -> None:
    """Trust: signals in, standings out; truth only ever sees a frozen snapshot of it."""


trust.add_command(policy)


trust.add_command(simulate)


add_operations(trust, "trust", OPERATIONS)
