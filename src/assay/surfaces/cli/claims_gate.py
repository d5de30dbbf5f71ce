"""`assay claims gate`, `resume` and `explain`: a bundle through the chain."""

from pathlib import Path
from typing import BinaryIO

import click

from assay.claims.bundle import Decision
from assay.claims.decide import gate_document
from assay.claims.errors import BundleError
from assay.claims.gate import GateFacts, standard_gates
from assay.claims.guardian import BuiltInGuardian
from assay.claims.parse_bundle import Reading, check_bundle
from assay.claims.policy import DEFAULT_POLICY
from assay.flows.claims.attach_evidence import LARGEST_EVIDENCE
from assay.flows.claims.gate_claims import Submission, gate_claims
from assay.flows.claims.resume_claims import resume_claims
from assay.identity.risk import RiskTier
from assay.kernel.digest import parse_digest
from assay.surfaces.cli.acting import credential_option, read_credential, within
from assay.surfaces.cli.claims_policy_file import read_policy_file
from assay.surfaces.cli.claims_text import gated_text, outcome_text
from assay.surfaces.cli.output import Call, Command, NodeCommand
from assay.surfaces.cli.text_file import read_bytes

_HONEST_NO = 1
_LARGEST = 1024 * 1024
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_evidence = click.option(
    "--evidence",
    nargs=2,
    multiple=True,
    metavar="SOURCE FILE",
    help="Content of a source, kept, and refused unless a pointer of the bundle names its hash. May be repeated.",
)
_arguments = click.option(
    "--tool-argument", "tool_arguments", multiple=True, metavar="TEXT", help="What a tool is to be called with."
)
_thread = click.option("--thread", metavar="NAME", help="The session that the bundle belongs to.")
_questions = click.option(
    "--question",
    "questions",
    nargs=2,
    multiple=True,
    metavar="CLAIM TEXT",
    help="Ask the node's own model, and take the stricter of what it and the agent say. May be repeated.",
)
_strict = click.option("--strict", is_flag=True, help="Read no legacy hashes and ids.")


@click.command(cls=NodeCommand)
@click.argument("file", type=click.File("rb"), metavar="FILE|-")
@_evidence
@_arguments
@_thread
@_questions
@_strict
@credential_option
@click.pass_context
def gate(
    context: click.Context,
    /,
    *,
    file: BinaryIO,
    evidence: tuple[tuple[str, str], ...],
    tool_arguments: tuple[str, ...],
    thread: str | None,
    questions: tuple[tuple[str, str], ...],
    strict: bool,
    credential: str | None,
) -> None:
    """Gate the bundle in FILE as its agent: exit 0 for PUBLISH, 1 for DEFER, ESCALATE and REFUSE.

    The decision is on record when it is printed. What waits for people is on the review desk; the same bundle again is
    answered with what is recorded.
    """
    call: Call = context.obj
    token, document = read_credential(credential), file.read(_LARGEST + 1)
    submission = _submission(evidence, tool_arguments, thread, questions)
    reading = Reading.STRICT if strict else Reading.LEGACY
    with call.open_node(writable=True) as (tools, config):
        from assay.wiring import open_estimator, open_models

        with open_models(call.home, config) as models:
            done = gate_claims(
                tools,
                document,
                credential=within(tools, token, "claims:write"),
                at=tools.clock.now(),
                reading=reading,
                submission=submission,
                estimator=open_estimator(config, models.general),
            )
    call.answer(done, gated_text(done))
    context.exit(0 if done.decision is Decision.PUBLISH else _HONEST_NO)


@click.command(cls=NodeCommand)
@click.argument("bundle_hash", metavar="HASH")
@click.argument("file", type=click.File("rb"), metavar="[FILE|-]", required=False)
@_evidence
@_arguments
@_thread
@_questions
@_strict
@credential_option
@click.pass_context
def resume(
    context: click.Context,
    /,
    *,
    bundle_hash: str,
    file: BinaryIO | None,
    evidence: tuple[tuple[str, str], ...],
    tool_arguments: tuple[str, ...],
    thread: str | None,
    questions: tuple[tuple[str, str], ...],
    strict: bool,
    credential: str | None,
) -> None:
    """Gate the bundle HASH again with what people have answered since; or put the bundle in FILE in its place.

    A bundle in its place has a hash of its own: approvals of the earlier one do not count for it.
    """
    call: Call = context.obj
    token, wanted = read_credential(credential), parse_digest(bundle_hash)
    if file is None and (evidence or tool_arguments or questions or thread is not None):
        raise click.UsageError("expected FILE with --evidence, --tool-argument, --question and --thread")
    document = None if file is None else file.read(_LARGEST + 1)
    with call.open_node(writable=True) as (tools, config):
        from assay.wiring import open_estimator, open_models

        with open_models(call.home, config) as models:
            done = resume_claims(
                tools,
                wanted,
                document,
                credential=within(tools, token, "claims:write"),
                at=tools.clock.now(),
                reading=Reading.STRICT if strict else Reading.LEGACY,
                submission=_submission(evidence, tool_arguments, thread, questions),
                estimator=open_estimator(config, models.general),
            )
    call.answer(done, gated_text(done))
    context.exit(0 if done.decision is Decision.PUBLISH else _HONEST_NO)


@click.command(cls=Command)
@click.argument("file", type=click.File("rb"), metavar="FILE|-")
@click.option("--policy", "policy_file", type=_FILE, metavar="FILE", help="A policy; else the specification's.")
@click.option(
    "--ceiling",
    type=click.Choice([tier.value for tier in RiskTier]),
    default=RiskTier.PRIVILEGE.value,
    show_default=True,
    help="What the agent may do at most.",
)
@_evidence
@_arguments
@click.pass_context
def explain(
    context: click.Context,
    /,
    *,
    file: BinaryIO,
    policy_file: Path | None,
    ceiling: str,
    evidence: tuple[tuple[str, str], ...],
    tool_arguments: tuple[str, ...],
) -> None:
    """Tell what the gates would say about the bundle in FILE, without a node, and with nothing recorded.

    Nobody is authenticated, and nothing was sent before: origin and rate are taken as in order.
    """
    from assay.adapters.clock import SystemClock

    call: Call = context.obj
    finding = check_bundle(file.read(_LARGEST + 1))
    if finding.bundle is None:
        raise BundleError(finding.problems)
    bundle = finding.bundle
    policy = DEFAULT_POLICY if policy_file is None else read_policy_file(policy_file)
    facts = GateFacts(
        now=SystemClock().now(),
        submitter=bundle.origin_agent,
        risk_ceiling=RiskTier(ceiling),
        contents=_contents(evidence),
        tool_arguments=tool_arguments,
        audit_recorded=True,
    )
    outcome = gate_document(finding, standard_gates((BuiltInGuardian(),)), facts, policy)
    call.answer(outcome, outcome_text(bundle, outcome))
    context.exit(0 if outcome.decision is Decision.PUBLISH else _HONEST_NO)


def _submission(
    evidence: tuple[tuple[str, str], ...],
    tool_arguments: tuple[str, ...],
    thread: str | None,
    questions: tuple[tuple[str, str], ...],
) -> Submission:
    return Submission(
        contents=_contents(evidence), tool_arguments=tool_arguments, thread=thread, questions=dict(questions)
    )


def _contents(evidence: tuple[tuple[str, str], ...]) -> dict[str, bytes]:
    return {source: read_bytes(Path(name), largest=LARGEST_EVIDENCE) for source, name in evidence}
