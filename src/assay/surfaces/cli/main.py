"""`assay`: parse, run one command, and say with the exit code how it went.

0 yes, 1 an honest no, 2 wrong usage, 3 untrusted input, 4 our fault; 130 interrupted, 141 nobody reads any more.
"""

import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

import click

from assay import __version__
from assay.kernel.errors import Blame, Error
from assay.surfaces.cli.lazy import Entrance, LazyGroup
from assay.surfaces.cli.output import EXIT_CODES, Call, report_error

__all__ = ["cli", "main", "run"]

_INTERRUPTED = 130
_NOBODY_READS = 141
_COMPLETION = "_ASSAY_COMPLETE"

_HERE = "assay.surfaces.cli"
_ENTRANCES = {
    "init": Entrance(f"{_HERE}.init:init", "make a folder into a node: keys, configuration, database"),
    "ledger": Entrance(f"{_HERE}.ledger:ledger", "append, show, verify, checkpoint, prove, export, watch"),
    "verify": Entrance(f"{_HERE}.verify:verify", "verify a proof offline, with nothing but a key you trust"),
    "canonical": Entrance(f"{_HERE}.canonical:canonical", "the canonical bytes of a JSON text, or their hash"),
    "erase": Entrance(f"{_HERE}.erase:erase", "erase personal values of an entry; its proof stays"),
    "key": Entrance(f"{_HERE}.key:key", "list, rotate and trust keys"),
    "principal": Entrance(f"{_HERE}.principal:principal", "people, agents and services, and what proves them"),
    "review": Entrance(f"{_HERE}.review:review", "the review desk: list, show and answer tickets"),
    "contract": Entrance(f"{_HERE}.contract:contract", "claim types as YAML: lint, hash, lock, new, release"),
    "truth": Entrance(f"{_HERE}.truth:truth", "observe, vote, compile; show, map, replay and verify states"),
    "trust": Entrance(f"{_HERE}.trust:trust", "signals, policies, standings, snapshots"),
    "evaluate": Entrance(f"{_HERE}.evaluate:evaluate", "judge telemetry by the graph in use, line by line"),
    "verdict": Entrance(f"{_HERE}.verdict:verdict", "show, list and attest verdicts; those that wait for a person"),
    "replay": Entrance(f"{_HERE}.replay:replay", "reach recorded verdicts again, and compare"),
    "receipt": Entrance(f"{_HERE}.receipt:receipt", "show, export and verify inference receipts with the weights"),
    "coverage": Entrance(f"{_HERE}.coverage:coverage", "subjects that no rule speaks about"),
    "agreement": Entrance(f"{_HERE}.agreement:agreement", "how often the verifier agrees with the model"),
    "telemetry": Entrance(f"{_HERE}.telemetry:telemetry", "what windows can look back at"),
    "graph": Entrance(f"{_HERE}.graph:graph", "knowledge graphs: extract, validate, review, sign, load, show, impact"),
    "model": Entrance(f"{_HERE}.model:model", "the judge's weights: list, show, eval, add, activate, train"),
    "sovereignty": Entrance(
        f"{_HERE}.sovereignty:sovereignty", "on whose ground it is judged; verify the build that runs"
    ),
    "claims": Entrance(f"{_HERE}.claims:claims", "gate bundles of claims; evidence, approvals, policy, calibration"),
    "service": Entrance(f"{_HERE}.service:service", "services: lint, sign and show codex.json, trust a key, who can"),
    "check": Entrance(f"{_HERE}.check:check", "check a service by rule, and attack it if you wish"),
    "proof": Entrance(f"{_HERE}.proof:proof", "which certified rules some code says it implements"),
    "ask": Entrance(f"{_HERE}.ask:ask", "ask a question; the answer comes with its authenticity level"),
    "outcome": Entrance(f"{_HERE}.ask:outcome", "report what came of an answer to the rules behind it"),
    "trace": Entrance(f"{_HERE}.ask:trace", "what each stage about an answer read, routed and recorded"),
    "rules": Entrance(f"{_HERE}.rules:rules", "the rule registry: add, certify, grant, prove, recount, alerts"),
    "query": Entrance(f"{_HERE}.query:query", "the query registry: kinds of question, their levels and shortfalls"),
    "rca": Entrance(f"{_HERE}.rca:rca", "root causes: list, show, conclude as a person"),
    "peer": Entrance(f"{_HERE}.peer:peer", "other organisations: agree on rule ids and strands, show"),
    "webhook": Entrance(f"{_HERE}.webhook:webhook", "webhooks: add, list, remove, dead letters, replay"),
    "pairs": Entrance(f"{_HERE}.rca:pairs", "training pairs: export, and train in batches"),
    "report": Entrance(f"{_HERE}.report:report", "what was decided in a period, with proofs: page, PDF, CSV, JSON"),
    "backup": Entrance(f"{_HERE}.backup:backup", "write a signed, portable archive of the node"),
    "restore": Entrance(f"{_HERE}.restore:restore", "make a node from an archive, verified before it counts"),
    "doctor": Entrance(f"{_HERE}.doctor:doctor", "examine the node and say what to do"),
    "serve": Entrance(f"{_HERE}.serve:serve", "serve the HTTP interface"),
    "mcp": Entrance(f"{_HERE}.mcp:mcp", "tools for agents (Model Context Protocol), over stdio or HTTP"),
    "witness": Entrance(f"{_HERE}.witness:witness", "cosign the checkpoints of other nodes"),
    "demo": Entrance(f"{_HERE}.demo:demo", "see it work: a ledger, a proof, a flood, forgeries refused"),
}


@click.group(cls=LazyGroup, entrances=_ENTRANCES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="assay", message="%(prog)s %(version)s")
@click.option(
    "--home",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="ASSAY_HOME",
    default=".",
    metavar="DIR",
    help="The node's folder; else ASSAY_HOME, else the current folder.",
)
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON on standard output, errors included.")
@click.option("--debug", is_flag=True, help="Show the traceback of an unexpected error.")
@click.pass_context
def cli(context: click.Context, home: Path, as_json: bool, debug: bool) -> None:  # noqa: FBT001 - click's own
    """Prove what an AI output was, why it was acted on, and that nobody changed the record since."""
    context.obj = Call(home=home, as_json=as_json, debug=debug)


def main() -> None:
    """The program; `assay` in the shell."""
    if _COMPLETION in os.environ:
        cli.main(prog_name="assay")  # the shell asks what could follow; click answers and leaves
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:  # noqa: PLR0911 - one return for each way a command can end
    """Run one command and return its exit code; every way it can end is decided here."""
    # Errors can come before any option was parsed, so the wish for JSON is read from the text.
    as_json = "--json" in arguments
    try:
        # Not `cli.main`, which would decide about broken pipes and interruptions in its own way.
        with cli.make_context("assay", list(arguments)) as context:
            cli.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except Error as error:
        report_error(error.code, str(error), as_json=as_json)
        return EXIT_CODES[error.blame]
    except click.ClickException as error:
        return _report_usage(error, as_json=as_json)
    except (click.Abort, KeyboardInterrupt):
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader left, as `head` does: what the interpreter still flushes at its end must not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _NOBODY_READS
    except Exception as error:  # noqa: BLE001 - whatever it is, it is ours, and a traceback is no answer
        return _report_unexpected(error, as_json=as_json, debug="--debug" in arguments)
    return 0


def _report_usage(error: click.ClickException, *, as_json: bool) -> int:
    if as_json:
        report_error("cli.usage", error.format_message(), as_json=True)
    else:
        error.show()
    return EXIT_CODES[Blame.USAGE]


def _report_unexpected(error: Exception, *, as_json: bool, debug: bool) -> int:
    if debug:
        traceback.print_exception(error)
    summary = " ".join(str(error).split())[:300]
    advice = "" if debug else "; run `assay --debug …` for the traceback"
    report_error("cli.unexpected", f"{type(error).__name__}: {summary}{advice}", as_json=as_json)
    return EXIT_CODES[Blame.OURS]


if __name__ == "__main__":
    main()
