"""`assay proof`: which certified rules some code says it implements."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.surfaces.cli.output import Call, Command, Group
from assay.surfaces.cli.source_texts import source_texts
from assay.surfaces.cli.text_file import TextFileError, read_bytes

if TYPE_CHECKING:
    from assay.registry.documents import ProofDocument
    from assay.registry.proof_scan import RuleFact

_HONEST_NO = 1
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.group(cls=Group)
def proof() -> None:
    """PROOF: annotations `@rule:ID` in code, counted against certified rules."""


@proof.command("scan", cls=Command)
@click.argument("source", metavar="SRC", type=click.Path(path_type=Path, exists=True))
@click.option("--rules", metavar="FILE", type=_FILE, help="JSON: an array of {id, certified, capabilities}.")
@click.option("--codex", metavar="FILE", type=_FILE, help="Whose capabilities are to be covered, and the threshold.")
@click.option(
    "--memory", metavar="FILE", type=_FILE, help="Keep the measurement where the service of --codex shows it."
)
@click.pass_context
def _scan(context: click.Context, source: Path, rules: Path | None, codex: Path | None, memory: Path | None) -> None:
    """Scan SRC, a file or a folder of code in any language; exit 1 if coverage is below the threshold."""
    from assay.registry.open_manifest import open_manifest
    from assay.registry.proof_scan import DEFAULT_THRESHOLD, prove, scan_texts

    call: Call = context.obj
    manifest = None if codex is None else open_manifest(read_bytes(codex)).manifest
    found = prove(
        _rules(rules),
        scan_texts(source_texts(source)),
        capabilities=() if manifest is None else (*manifest.can_answer, *manifest.can_do),
        threshold_pct=DEFAULT_THRESHOLD if manifest is None else manifest.proof_threshold,
    )
    if memory is not None:
        if manifest is None:
            raise click.UsageError("expected --codex with --memory")
        _keep(memory, manifest.service, found)
    call.answer(found, _told(found))
    if not found.passing:
        context.exit(_HONEST_NO)


def _rules(path: Path | None) -> "list[RuleFact]":
    import msgspec

    from assay.registry.proof_scan import RuleFact

    if path is None:
        return []
    try:
        return msgspec.json.decode(read_bytes(path), type=list[RuleFact])
    except msgspec.DecodeError as error:
        raise TextFileError(f"expected an array of rules in `{path}`: {error}") from error


def _keep(memory: Path, service_id: str, found: "ProofDocument") -> None:
    from assay.adapters.clock import SystemClock
    from assay.adapters.service_file import ServiceFile
    from assay.kernel.digest import digest_of
    from assay.ports.registry_store import ProofRecord
    from assay.registry.documents import render_document
    from assay.surfaces.forja.service import OWN

    text = render_document(found)
    record = ProofRecord(
        service_id=service_id, measured_at=SystemClock().now(), proof_hash=digest_of(text), text=text.decode()
    )
    file = ServiceFile(memory)
    try:
        file.write(lambda store: store.add_proof(OWN, record))
    finally:
        file.close()


def _told(found: "ProofDocument") -> str:
    lines = [f"{found.rules_with_code} of {found.rules_certified} certified rules have code: {found.coverage_pct} %"]
    lines += [f"unimplemented  {name}" for name in found.unimplemented_rules]
    lines += [f"orphan         {name}" for name in found.orphan_annotations]
    lines += [f"without rules  {name}" for name in found.capabilities_without_rules]
    return "\n".join(lines)
