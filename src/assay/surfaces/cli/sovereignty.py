"""`assay sovereignty`: what evaluates here, on whose ground, and how an outsider makes sure."""

from pathlib import Path

import click

from assay.surfaces.cli.acting import read_session, session_option
from assay.surfaces.cli.output import Call, Group, tenant_option
from assay.surfaces.cli.sovereignty_verify import verify
from assay.surfaces.cli.text_file import read_bytes

_HONEST_NO = 1
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.group(cls=Group)
def sovereignty() -> None:
    """What evaluates here and on whose ground: show it, quote the TPM, verify the build, clear attempts to leave."""


sovereignty.add_command(verify)


@sovereignty.command("show")
@tenant_option
@click.pass_context
def _show(context: click.Context, tenant: str | None) -> None:
    """Show the signed document that GET /api/sovereignty gives; exit 1 if a check of strict mode is unmet.

    With --json it is exactly that document, which `assay sovereignty verify --document` verifies elsewhere.
    """
    from assay.flows.verdicts.sovereignty import attest_sovereignty, sovereignty_value
    from assay.wiring import open_evaluation

    call: Call = context.obj
    with (
        call.open_node() as (tools, config),
        open_evaluation(call.home, config, tools, may_wait=True) as evaluation,
    ):
        tenant_id = call.tenant_of(config, tenant)
        signed = attest_sovereignty(evaluation.tools, tenant_id, at=tools.clock.now())
    document = signed.document
    lines = [
        f"mode: {document.mode}",
        f"weights: {document.model_weight_hash}",
        f"graph: {document.kg_version_hash}",
        f"commit: {document.codebase_commit_hash}",
        f"build: {'stated' if document.build_provenance_attestation else 'none: this code was not built'}",
        *(f"{'ok' if one.is_met else 'NOT MET'} {one.check}: {one.detail}" for one in document.findings),
        f"receipts: {document.receipts}",
        f"signed by {signed.key_id}",
    ]
    call.answer(sovereignty_value(signed), "\n".join(lines))
    if not all(one.is_met for one in document.findings):
        context.exit(_HONEST_NO)


@sovereignty.command("quote")
@click.option("--nonce", metavar="HEX", required=True, help="What whoever asks made up: 1 to 32 bytes.")
@click.pass_obj
def _quote(call: Call, nonce: str) -> None:
    """Have the TPM say under its own key which weights were measured; refused where none, or others, were.

    The nonce shows that the answer is no older than the question.
    """
    from assay.flows.verdicts.sovereignty import quote_weights
    from assay.surfaces.cli.output import json_text
    from assay.surfaces.cli.sovereignty_verify import read_nonce
    from assay.wiring import open_evaluation

    asked = read_nonce(nonce)
    with (
        call.open_node() as (tools, config),
        open_evaluation(call.home, config, tools, may_wait=True) as evaluation,
    ):
        quote = quote_weights(evaluation.tools, asked)
    call.answer(quote, json_text(quote))


@sovereignty.command("audit")
@click.option("--attestation-key", type=_FILE, required=True, help="The TPM's attestation key in PEM.")
@tenant_option
@click.pass_context
def _audit(context: click.Context, attestation_key: Path, tenant: str | None) -> None:
    """Follow every verdict of the ledger to the TPM's word about its weights; exit 1 if one leads nowhere.

    The ledger is taken as it is: `assay ledger verify` tells whether it is what was recorded.
    """
    from assay.flows.verdicts.examine_sovereignty import audit_measurements

    call: Call = context.obj
    key = read_bytes(attestation_key)
    with call.open_node() as (tools, config):
        report = audit_measurements(tools, call.tenant_of(config, tenant), attestation_key=key)
    lines = [f"entry {one.sequence_number}: {one.message}" for one in report.problems]
    lines.append(f"{report.verdicts} verdicts, {report.measurements} measurements, {len(report.problems)} problems")
    call.answer(report, "\n".join(lines))
    if not report.holds:
        context.exit(_HONEST_NO)


@sovereignty.command("clear")
@click.option("--reason", required=True, help="What the attempts were, and why evaluation may go on.")
@session_option
@click.pass_obj
def _clear(call: Call, reason: str, session: str | None) -> None:
    """Say in person that all attempts to leave the perimeter so far were looked into; strict evaluation goes on.

    For an operator with a session; a process that made such an attempt itself must be started again as well.
    """
    from assay.flows.verdicts.sovereignty import clear_egress

    token = read_session(session)
    with call.open_node(writable=True) as (tools, _):
        receipt = clear_egress(tools, reason=reason, credential=token, at=tools.clock.now())
    call.answer(receipt, f"cleared, entry {receipt.sequence_number}")
