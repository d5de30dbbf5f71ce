"""`assay contract release`, `list` and `show`: contracts as this node has them."""

from pathlib import Path

import click

from assay.flows.truth.inspect_contract import list_contracts, show_contract, show_form
from assay.flows.truth.release_contract import Release, release_contract
from assay.kernel.instant import render_instant
from assay.ports.truth_store import ReleasedContract
from assay.surfaces.cli.acting import columns, credential_option, read_credential, within
from assay.surfaces.cli.contract_file import files_argument, read_contract_files
from assay.surfaces.cli.output import Call, ListCommand, NodeCommand, tenant_option
from assay.truth.form import ObservationForm


@click.command(cls=NodeCommand)
@files_argument
@credential_option
@click.pass_obj
def release(call: Call, files: tuple[Path, ...], credential: str | None) -> None:
    """Release the contracts in FILE, as an operator: from then on their bodies never change.

    The same body again changes nothing; another under a released id is refused.
    """
    token = read_credential(credential)
    with call.open_node(writable=True) as (tools, _):
        read = read_contract_files(call, files, tools.domain_systems)
        done = [
            release_contract(
                tools, text.text, text.schema, credential=within(tools, token, "truth:write"), at=tools.clock.now()
            )
            for text, _ in read
        ]
    call.answer(done, "\n".join(map(_line, done)))


@click.command(cls=ListCommand, name="list")
@tenant_option
@click.pass_obj
def list_(call: Call, tenant: str | None) -> None:
    """List the released contracts of a tenant."""
    with call.open_node() as (tools, config):
        found = list_contracts(tools, call.tenant_of(config, tenant))
    rows = [(one.claim_type, one.claim_type_hash, render_instant(one.released_at), one.released_by) for one in found]
    shown = [
        {
            "claim_type": one.claim_type,
            "claim_type_hash": one.claim_type_hash,
            "released_at": one.released_at,
            "released_by": one.released_by,
            "sequence_number": one.sequence_number,
        }
        for one in found
    ]
    call.answer_table(shown, ("CLAIM TYPE", "HASH", "RELEASED", "BY"), rows, nothing="no contract was released")


@click.command(cls=NodeCommand)
@click.argument("claim_type", metavar="CLAIM_TYPE")
@click.option("--document", is_flag=True, help="Print the canonical document alone, as it is hashed; no line feed.")
@click.option("--form", is_flag=True, help="Show what observers are asked for: members, evidence, place.")
@tenant_option
@click.pass_obj
def show(call: Call, claim_type: str, tenant: str | None, *, document: bool, form: bool) -> None:
    """Show a released contract: when, by whom, its hash, and the whole document."""
    if document and form:
        raise click.UsageError("expected --document or --form, got both")
    with call.open_node() as (tools, config):
        tenant_id = call.tenant_of(config, tenant)
        if form:
            asked = show_form(tools, tenant_id, claim_type)
            call.answer(asked, _form_text(asked))
            return
        found = show_contract(tools, tenant_id, claim_type)
    if document and not call.as_json:
        click.echo(found.document, nl=False)
    else:
        call.answer(found, _text(found))


def _line(done: Release) -> str:
    one = done.contract
    words = "released" if done.is_new else "was released before"
    return f"{words}: {one.claim_type} {one.claim_type_hash}, entry {one.sequence_number}"


def _form_text(form: ObservationForm) -> str:
    evidence = form.evidence
    rows = [
        (one.name, one.widget, "yes" if one.required else "no", ", ".join(one.options) or "-", one.help or "-")
        for one in form.fields
    ]
    facts = [
        ("form", form.title),
        ("claim type", f"{form.claim_type} {form.claim_type_hash}"),
        ("place", form.place),
        ("evidence", f"{evidence.min_count} to {evidence.max_count} of {', '.join(evidence.types)}"),
    ]
    return columns(list(facts)) + "\n" + columns([("MEMBER", "KIND", "REQUIRED", "OPTIONS", "HELP"), *rows])


def _text(found: ReleasedContract) -> str:
    import msgspec

    facts = [
        ("claim type", found.claim_type),
        ("hash", found.claim_type_hash),
        ("released", f"{render_instant(found.released_at)} by {found.released_by}, entry {found.sequence_number}"),
        ("schema", "in the document" if found.schema_text is None else "in a file of its own"),
    ]
    return columns(list(facts)) + "\n" + msgspec.json.format(found.document, indent=2)
