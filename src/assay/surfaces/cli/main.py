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
from assay.surfaces.cli.output import EXIT_CODES, Call, problems_of, report_error

_INTERRUPTED = 130
_NOBODY_READS = 141
_COMPLETION = "_ASSAY_COMPLETE"

_HERE = "assay.surfaces.cli"
_SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "Begin": {
        "init": ("init:init", "make a folder into a node: keys, configuration, database"),
        "demo": ("demo:demo", "see every room work, and all of it verified offline"),
        "doctor": ("doctor:doctor", "examine the node and say what to do"),
        "serve": ("serve:serve", "serve the HTTP interface"),
        "operations": ("operations:operations", "every operation with its permission and its doors"),
        "permitted": ("@operations.permitted", "the operations that a credential may perform now"),
        "completion": ("completion:completion", "the completion script of bash, zsh or fish"),
    },
    "Ledger and proofs": {
        "ledger": ("ledger:ledger", "append, show, verify, checkpoint, prove, export, watch"),
        "verify": ("verify:verify", "verify a proof offline, with nothing but a key you trust"),
        "report": ("report:report", "what was decided in a period, with proofs: page, PDF, CSV, JSON"),
        "erase": ("@entry.erase", "erase personal values of an entry; its proof stays"),
        "watch": ("@events.follow", "follow the events of a tenant as they are recorded"),
        "canonical": ("canonical:canonical", "the canonical bytes of a JSON text, or their hash"),
        "monitor": ("monitor:monitor", "verify a published tile log"),
        "lake": ("lake:lake", "tables for other programs: export and verify"),
        "witness": ("witness:witness", "cosign the checkpoints of other nodes"),
    },
    "People and keys": {
        "principal": ("principal:principal", "people, agents and services, and what proves them"),
        "review": ("review:review", "the review desk: list, show and answer tickets"),
        "key": ("key:key", "list, rotate and trust keys"),
    },
    "Truth from observations": {
        "contract": ("contract:contract", "claim types as YAML: lint, hash, lock, new, release"),
        "truth": ("truth:truth", "observe, vote, compile; show, map, replay and verify states"),
        "trust": ("trust:trust", "signals, policies, standings, snapshots"),
    },
    "Verdicts on telemetry": {
        "graph": ("graph:graph", "knowledge graphs: extract, validate, review, sign, load, show, impact"),
        "evaluate": ("evaluate:evaluate", "judge telemetry by the graph in use, line by line"),
        "verdict": ("verdict:verdict", "show, list and attest verdicts; those that wait for a person"),
        "replay": ("replay:replay", "reach recorded verdicts again, and compare"),
        "receipt": ("receipt:receipt", "show, export and verify inference receipts with the weights"),
        "coverage": ("coverage:coverage", "subjects that no rule speaks about"),
        "agreement": ("coverage:agreement", "how often the verifier agrees with the model"),
        "health": ("@judge.health", "whether the node can judge records"),
        "telemetry": ("telemetry:telemetry", "what windows can look back at"),
        "model": ("model:model", "the judge's weights: list, show, eval, add, activate, train"),
        "sovereignty": ("sovereignty:sovereignty", "on whose ground it is judged; verify the build that runs"),
    },
    "What agents claim, and the services they use": {
        "claims": ("claims:claims", "gate bundles of claims; evidence, approvals, policy, calibration"),
        "permit": ("permit:permit", "permits: issue, claim, report, revoke, list; an approved call runs once"),
        "mandate": ("permit:mandate", "standing approvals: preview, propose, list, show, uses, revoke"),
        "gateway": ("gateway:gateway", "a gateway in front of MCP servers: learn, release, serve, approve, calls"),
        "service": ("service:service", "services: lint, sign and show codex.json, trust a key, who can"),
        "check": ("check:check", "check a service by rule, and attack it if you wish"),
        "mcp": ("mcp:mcp", "tools for agents (Model Context Protocol), over stdio or HTTP"),
    },
    "Answers, and what came of them": {
        "ask": ("ask:ask", "ask a question; the answer comes with its authenticity level"),
        "resume": ("ask:resume", "ask again for an answer that the gates held back"),
        "answers": ("ask:answers", "answers that were given: list, show, prove, claims, outcomes"),
        "outcome": ("ask:outcome", "report what came of an answer to the rules behind it"),
        "outcomes": ("ask:outcomes", "report many outcomes, one in each line"),
        "trace": ("@trace.show", "the complete history of an answer, a record, a bundle, a ticket or an outcome"),
        "rules": ("rules:rules", "the rule registry: add, certify, grant, prove, recount, alerts"),
        "query": ("query:query", "the query registry: kinds of question, their levels and shortfalls"),
        "rca": ("rca:rca", "root causes: list, show, conclude as a person"),
        "pairs": ("rca:pairs", "training pairs: export, and train in batches"),
        "proof": ("proof:proof", "which certified rules some code says it implements"),
        "emit": ("ask:emit", "emit a SENSE event under a service's own name"),
        "peer": ("peer:peer", "other organisations: agree on rule ids and strands, show"),
    },
    "Keep it running": {
        "backup": ("backup:backup", "write a signed, portable archive of the node"),
        "restore": ("restore:restore", "make a node from an archive, verified before it counts"),
        "webhook": ("webhook:webhook", "webhooks: add, list, remove, dead letters, replay"),
    },
}
_ENTRANCES = {
    name: Entrance(target if target.startswith("@") else f"{_HERE}.{target}", short_help, heading)
    for heading, commands in _SECTIONS.items()
    for name, (target, short_help) in commands.items()
}
# What a person does next, where the error itself must say the same to everybody.
_NEXT = {
    "identity.not_signed_in": (
        "next: `assay principal key issue ID` for an agent or a service, `assay principal login ID` for a person; give "
        "what it prints in ASSAY_CREDENTIAL, ASSAY_SESSION or --credential"
    ),
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
        report_error(error.code, str(error), as_json=as_json, problems=problems_of(error))
        if error.code in _NEXT and not as_json:
            click.echo(_NEXT[error.code], err=True)
        return EXIT_CODES[error.blame]
    except click.ClickException as error:
        return _report_usage(error, as_json=as_json)
    except (click.Abort, KeyboardInterrupt):
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader left, as `head` does: what the interpreter still flushes at its end must not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _NOBODY_READS
    except OSError as error:
        return _report_machine(error, as_json=as_json, debug="--debug" in arguments)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is ours, and a traceback is no answer
        return _report_unexpected(error, as_json=as_json, debug="--debug" in arguments)
    return 0


def _report_usage(error: click.ClickException, *, as_json: bool) -> int:
    if as_json:
        report_error("cli.usage", error.format_message(), as_json=True)
    else:
        error.show()
    return EXIT_CODES[Blame.USAGE]


def _report_machine(error: OSError, *, as_json: bool, debug: bool) -> int:
    """What the machine refused: a file, a folder or the disk; nothing in the program would say more."""
    if debug:
        traceback.print_exception(error)
    place = "" if error.filename is None else f"`{error.filename}`: "
    report_error("cli.machine", f"{place}{error.strerror or type(error).__name__}", as_json=as_json)
    return EXIT_CODES[Blame.OURS]


def _report_unexpected(error: Exception, *, as_json: bool, debug: bool) -> int:
    if debug:
        traceback.print_exception(error)
    summary = " ".join(str(error).split())[:300]
    advice = "" if debug else "; run `assay --debug …` for the traceback"
    report_error("cli.unexpected", f"{type(error).__name__}: {summary}{advice}", as_json=as_json)
    return EXIT_CODES[Blame.OURS]


if __name__ == "__main__":
    main()
