"""`assay erase`: the values go, the proof stays."""

import click

from assay.surfaces.cli.output import Call, NodeCommand, tenant_option

__all__ = ["erase"]

_LATER = "; the deleted bytes are still in the database's files and leave them later (see docs/storage.md)"


@click.command(cls=NodeCommand)
@click.argument("sequence_number", metavar="SEQ", type=click.IntRange(min=1))
@click.option("--pointer", "pointers", multiple=True, metavar="POINTER", help="Only the value there; may be repeated.")
@click.option("--reason", required=True, metavar="TEXT", help="Why; recorded in the ledger.")
@click.option(
    "--by",
    default="operator:local",
    show_default=True,
    metavar="PRINCIPAL",
    help="Who asked for it; recorded in the ledger.",
)
@tenant_option
@click.pass_obj
def erase(
    call: Call, sequence_number: int, pointers: tuple[str, ...], reason: str, by: str, tenant: str | None
) -> None:
    """Erase the personal values of entry SEQ: all of them, or those named by --pointer.

    Only values appended as personal can be erased. The entry and its proofs stay valid; an erasure entry
    records who did it and why. Copies in backups and exports are not reached. The answer says whether the bytes
    have left the database's files, or will only later (`scrubbed`): a reader keeps them, and PostgreSQL takes its time.
    """
    from assay.flows.erase_record import erase_record
    from assay.kernel.ids import parse_principal_id

    principal = parse_principal_id(by)
    with call.open_node(writable=True) as (tools, config):
        erasure, receipt, scrubbed = erase_record(
            tools,
            call.tenant_of(config, tenant),
            sequence_number,
            pointers=pointers or None,
            by=principal,
            reason=reason,
            at=tools.clock.now(),
        )
    call.answer(
        {"erasure": erasure, "receipt": receipt, "scrubbed": scrubbed},
        f"erased {', '.join(erasure.pointers)} of entry {sequence_number}; recorded in entry {receipt.sequence_number}"
        f"{'' if scrubbed else _LATER}",
    )
