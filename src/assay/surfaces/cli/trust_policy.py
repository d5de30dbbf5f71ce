"""`assay trust policy`: the rules by which signals become standing."""

from collections.abc import Callable, Sequence
from pathlib import Path

import click

from assay.operations.trust import OPERATIONS
from assay.surfaces.cli.acting import columns
from assay.surfaces.cli.derive import add_operations
from assay.surfaces.cli.output import Call, Command, Group
from assay.surfaces.cli.shipped import find_shipped
from assay.surfaces.cli.sink import open_file_sink, write_output
from assay.surfaces.cli.text_file import read_text
from assay.trust.errors import PolicyError
from assay.trust.lint import lint_policy
from assay.trust.parse_policy import check_policy
from assay.trust.plot import render_plot
from assay.trust.policy import TrustPolicy
from assay.trust.simulate import Simulation, simulate

_HONEST_NO = 1
_SHIPPED = "trust/flow_v1.yaml"
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)

_SIMULATED = (
    click.option("--seed", default="assay", show_default=True, help="Another seed is another run of the same crowd."),
    click.option("--days", type=click.IntRange(1, 3650), default=90, show_default=True, help="Days to simulate."),
    click.option("--parent", "parents", type=_FILE, multiple=True, metavar="FILE", help="A policy that it extends."),
)


def _simulated_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_SIMULATED):
        command = option(command)
    return command


@click.group(cls=Group)
def policy() -> None:
    """Policies: every number that decides about trust, in one YAML file."""


add_operations(policy, "trust policy", OPERATIONS)


@policy.command(cls=Command)
@click.argument("policy_id", metavar="ID")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    default="-",
    metavar="FILE",
    help="A new file; else standard output.",
)
@click.pass_obj
def new(call: Call, policy_id: str, output: Path) -> None:
    """Write a commented policy under ID, such as flow_v1, that can be linted and used as it is."""
    text = read_text(find_shipped(_SHIPPED)).replace("id: flow_v1\n", f"id: {policy_id}\n", 1)
    finding = check_policy(text)
    if finding.policy is None:
        raise PolicyError(finding.errors)
    if str(output) == "-":
        call.answer({"policy_id": policy_id, "text": text}, text.removesuffix("\n"))
        return
    with open_file_sink(output) as put:
        put(output.name, text.encode())
    call.answer({"policy_id": policy_id, "output": str(output)}, f"wrote {output}")


@policy.command(cls=Command)
@click.argument("file", type=_FILE)
@_simulated_options
@click.pass_context
def lint(context: click.Context, file: Path, seed: str, days: int, parents: tuple[Path, ...]) -> None:
    """Tell every problem of the policy in FILE, with its line, and what it would let dishonest agents do.

    Exit 1 if there is any. A policy with weaknesses may be registered by whoever accepts each by its code.
    """
    call: Call = context.obj
    finding = check_policy(read_text(file), parents=_texts(parents))
    if finding.policy is None:
        lines = [f"{file}:{one.line or 1}: error: {one.path}: {one.message} [{one.code}]" for one in finding.errors]
        call.answer({"file": str(file), "holds": False, "errors": finding.errors, "findings": []}, "\n".join(lines))
        context.exit(_HONEST_NO)
    report = lint_policy(finding.policy, seed=seed, rounds=days)
    lines = [f"{file}: weakness: {one.message} [{one.code}]" for one in report.findings]
    told = {"file": str(file), "holds": not report.findings, "errors": [], "findings": report.findings}
    call.answer({**told, "policy_hash": finding.policy.policy_hash}, "\n".join([*lines, _words(report.simulation)]))
    if report.findings:
        context.exit(_HONEST_NO)


@policy.command(name="simulate", cls=Command)
@click.argument("file", type=_FILE)
@click.option(
    "--plot", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Draw the standings, as SVG."
)
@_simulated_options
@click.pass_obj
def simulate_(call: Call, file: Path, plot: Path | None, seed: str, days: int, parents: tuple[Path, ...]) -> None:
    """Let honest, lazy, spamming, colluding and sybil agents live under the policy in FILE, and see where they end."""
    law = read_policy_file(file, parents)
    run = simulate(law, seed=seed, rounds=days)
    if plot is not None:
        write_output(plot, render_plot(run, law).encode())
        call.say(f"wrote {plot}")
    rows = [
        (one.agent_id, one.behaviour, f"{one.standings[-1]:.1f}", f"{one.trust_scores[-1]}", _heard(one.admissible))
        for one in run.runs
    ]
    table = columns([("AGENT", "BEHAVIOUR", "STANDING", "TRUST", "HEARD"), *rows])
    call.answer(run, f"{table}\n{_words(run)}")


def read_policy_file(file: Path, parents: Sequence[Path]) -> TrustPolicy:
    finding = check_policy(read_text(file), parents=_texts(parents))
    if finding.policy is None:
        raise PolicyError(finding.errors)
    return finding.policy


def _texts(parents: Sequence[Path]) -> dict[str, str]:
    """By the id that each gives itself; one that cannot be read so far has its problems told by the child."""
    texts = [read_text(path) for path in parents]
    return {_id_of(text): text for text in texts}


def _id_of(text: str) -> str:
    found = check_policy(text).policy
    if found is not None:
        return found.id
    lines = (line.partition(":") for line in text.splitlines())
    return next((value.strip() for name, _, value in lines if name == "id"), "")


def _words(run: Simulation) -> str:
    return (
        f"{run.rounds} days, {run.signals} signals, {run.keys} claims, {run.decided_wrong} decided wrongly;"
        f" of {run.attacks} lies told together {run.outvoted} were believed"
    )


def _heard(is_admissible: bool) -> str:  # noqa: FBT001 - it is the answer itself
    return "heard" if is_admissible else "not heard"
