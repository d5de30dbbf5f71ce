"""`assay sovereignty`: what evaluates here, on whose ground, and how an outsider makes sure."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec
from msgspec import Struct

from assay.kernel.errors import Error
from assay.operations.verdicts import OPERATIONS, SOVEREIGNTY
from assay.surfaces.cli.derive import add_operations, common_options
from assay.surfaces.cli.keys import read_key_text
from assay.surfaces.cli.output import Call, Command, Group, NodeCommand
from assay.surfaces.cli.perform import perform
from assay.surfaces.cli.sink import write_output
from assay.surfaces.cli.text_file import read_bytes

if TYPE_CHECKING:
    from assay.flows.verdicts.examine_sovereignty import AttestationReport
    from assay.verdicts.build import BuildReport
    from assay.verdicts.quote import Quoted

_HONEST_NO = 1


_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)


_BUILD_NAME = "_build.json"


_KEY_HELP = "A public key as hex, base64 or PEM, or a file that holds one."


class _Verified(Struct, frozen=True, kw_only=True):
    """What was looked at; None where it was not."""

    holds: bool
    build: "BuildReport | None" = None
    document: "AttestationReport | None" = None
    quote: "Quoted | None" = None


@click.command(cls=Command)
@click.option("--builder-key", "builder", multiple=True, metavar="KEY", help=f"Who may build. {_KEY_HELP}")
@click.option("--statement", type=_FILE, help="The release statement beside the wheel, instead of the one inside it.")
@click.option("--package", type=_FOLDER, help="The folder of another installed `assay`, instead of the one that runs.")
@click.option("--document", type=_FILE, help="What GET /api/sovereignty of a deployment answered.")
@click.option("--deployment-key", "deployment", metavar="KEY", help=f"The ledger key of that deployment. {_KEY_HELP}")
@click.option("--quote", type=_FILE, help="A TPM's quote, as `assay sovereignty quote` or a ledger entry has it.")
@click.option("--attestation-key", type=_FILE, help="The TPM's attestation key in PEM, known from its enrolment.")
@click.option("--nonce", metavar="HEX", help="What the quote must answer.")
@click.option("--weights", metavar="DIGEST", help="The weights that the quote must be about.")
@click.pass_context
def verify(
    context: click.Context,
    *,
    builder: tuple[str, ...],
    statement: Path | None,
    package: Path | None,
    document: Path | None,
    deployment: str | None,
    quote: Path | None,
    attestation_key: Path | None,
    nonce: str | None,
    weights: str | None,
) -> None:
    """Verify the SLSA chain of the build that runs: its statement, who signed it, its commit and every file.

    With --document or --quote these are verified, and the build only if --statement or --package asks for it.
    Exit 0: everything holds; 1: it does not, and each difference is named; 3: something was forged or cannot be read.
    A checkout that runs in place is no build, and says so. Code that checks itself can lie: to be sure, check it from
    an installation you trust with --package.
    """
    call: Call = context.obj
    keys = _read_keys(builder, "--builder-key")
    about_build = (document is None and quote is None) or statement is not None or package is not None
    built = _build(keys, statement, package) if about_build else None
    told = None if document is None else _document(document, deployment, keys)
    quoted = None if quote is None else _quote(quote, attestation_key, nonce, weights)
    holds = (built is None or built.is_proven) and (told is None or told.holds)
    call.answer(
        _Verified(holds=holds, build=built, document=told, quote=quoted),
        "\n".join([*_build_lines(built), *_document_lines(told), *_quote_lines(quoted, nonce)]),
    )
    if not holds:
        context.exit(_HONEST_NO)


def read_nonce(given: str) -> bytes:
    try:
        return bytes.fromhex(given)
    except ValueError as error:
        raise click.BadParameter("expected hex", param_hint="--nonce") from error


def _read_keys(given: Sequence[str], option: str) -> tuple[bytes, ...]:
    """One that cannot be read is wrong usage, and says nothing about what is to be verified."""
    from assay.kernel.key import parse_public_key

    try:
        return tuple(parse_public_key(read_key_text(text)) for text in given)
    except Error as error:
        raise click.BadParameter(str(error), param_hint=option) from error


def _build(keys: tuple[bytes, ...], statement: Path | None, package: Path | None) -> "BuildReport":
    from assay.adapters.package_files import installed_folder, load_package_files
    from assay.flows.verdicts.examine_sovereignty import examine_build

    folder = package or installed_folder()
    found, facts = load_package_files(folder), folder / _BUILD_NAME
    return examine_build(
        found.digests,
        builder_keys=keys,
        build_facts=read_bytes(facts) if facts.is_file() else None,
        statement=None if statement is None else read_bytes(statement),
        bytecode=found.bytecode,
    )


def _document(file: Path, deployment: str | None, keys: tuple[bytes, ...]) -> "AttestationReport":
    from assay.flows.verdicts.examine_sovereignty import examine_attestation

    if deployment is None:
        raise click.UsageError("--document needs --deployment-key: a document vouches for no key of its own")
    (key,) = _read_keys((deployment,), "--deployment-key")
    return examine_attestation(read_bytes(file), deployment_key=key, builder_keys=keys)


def _quote(file: Path, attestation_key: Path | None, nonce: str | None, weights: str | None) -> "Quoted":
    from assay.flows.verdicts.sovereignty import examine_quote
    from assay.kernel.digest import parse_digest

    if attestation_key is None:
        raise click.UsageError("--quote needs --attestation-key: a quote vouches for no key of its own")
    try:
        expected = None if weights is None else parse_digest(weights)
    except Error as error:
        raise click.BadParameter(str(error), param_hint="--weights") from error
    asked = None if nonce is None else read_nonce(nonce)
    return examine_quote(read_bytes(file), attestation_key=read_bytes(attestation_key), weights=expected, nonce=asked)


def _build_lines(report: "BuildReport | None") -> list[str]:
    if report is None:
        return []
    lines = [f"{'ok' if one.is_met else 'NOT MET'} {one.check}: {one.detail}" for one in report.findings]
    return lines + [f"{one.kind}: {one.name}" for one in report.differences]


def _document_lines(report: "AttestationReport | None") -> list[str]:
    if report is None:
        return []
    lines = [f"ok document: signed by {report.key_id} at {report.signed_at}, {report.mode}"]
    lines += [f"{'ok' if one.is_met else 'NOT MET'} {one.check}: {one.detail}" for one in report.findings]
    lines += [f"{'ok' if one.is_met else 'NOT MET'} build, {one.check}: {one.detail}" for one in report.build]
    return lines if report.build else [*lines, "NOT MET build: the deployment names none"]


def _quote_lines(quoted: "Quoted | None", nonce: str | None) -> list[str]:
    if quoted is None:
        return []
    age = "" if nonce else "; without --nonce it may be an old one"
    return [f"ok quote: register {quoted.registers[-1]}, boot {quoted.reset_count}{age}"]


@click.group(cls=Group)
def sovereignty() -> None:
    """What evaluates here and on whose ground: show it, quote the TPM, verify the build, clear attempts to leave."""


sovereignty.add_command(verify)


add_operations(sovereignty, "sovereignty", OPERATIONS)


@sovereignty.command("show", cls=NodeCommand)
@common_options(SOVEREIGNTY)
@click.pass_context
def _show(context: click.Context, /, output: Path | None, **where: str | None) -> None:
    """Show the signed document that GET /api/sovereignty gives; exit 1 if a check of strict mode is unmet.

    With --json it is exactly that document, which `assay sovereignty verify --document` verifies elsewhere.
    """
    call: Call = context.obj
    body = perform(call, SOVEREIGNTY, {}, **where).body
    if output is not None:
        write_output(output, body)
    document = msgspec.json.decode(body)
    lines = [
        f"mode: {document['mode']}",
        f"weights: {document['model_weight_hash']}",
        f"graph: {document['kg_version_hash']}",
        f"commit: {document['codebase_commit_hash']}",
        f"build: {'stated' if document['build_provenance_attestation'] else 'none: this code was not built'}",
        *(f"{'ok' if one['is_met'] else 'NOT MET'} {one['check']}: {one['detail']}" for one in document["findings"]),
        f"receipts: {document['receipts']}",
        f"signed by {document['key_id']}",
    ]
    call.answer(document, "\n".join(lines))
    if not all(one["is_met"] for one in document["findings"]):
        context.exit(_HONEST_NO)
