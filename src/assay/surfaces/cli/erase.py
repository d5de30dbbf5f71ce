"""`assay erase`: the values go, the proof stays."""

import click

from assay.surfaces.cli.acting import acting_as, session_option
from assay.surfaces.cli.output import Call, NodeCommand, tenant_option

__all__ = ["erase"]

_LATER = "; the deleted bytes are still in the database's files and leave them later (see docs/storage.md)"


@click.command(cls=NodeCommand)
@click.argument("sequence_number", metavar="SEQ", type=click.IntRange(min=1))
@click.option("--pointer", "pointers", multiple=True, metavar="POINTER", help="Only the value there; may be repeated.")
@click.option("--reason", required=True, metavar="TEXT", help="Why; recorded in the ledger.")
@tenant_option
@session_option
@click.pass_obj
def erase(
    call: Call, sequence_number: int, pointers: tuple[str, ...], reason: str, tenant: str | None, session: str | None
) -> None:
    """Erase the personal values of entry SEQ, or the evidence it attached: all, or what is named by --pointer.

    Without a session it is `operator:local` who does it; with one (ASSAY_SESSION or --session) that person, who must
    hold the role `operator`.

    Only values appended as personal, and the content of evidence (`/content`), can be erased. The entry and its
    proofs stay valid; an erasure entry records who did it and why. Copies in backups and exports are not reached. The
    answer says whether the bytes have left the database's files, or will only later (`scrubbed`): a reader keeps them,
    and PostgreSQL takes its time.
    """
    from assay.flows.ledger.erase_record import erase_record
    from assay.identity.principal import BuiltInRole

    with call.open_node(writable=True) as (tools, config):
        at, tenant_id = tools.clock.now(), call.tenant_of(config, tenant)
        erasure, receipt, scrubbed = erase_record(
            tools,
            tenant_id,
            sequence_number,
            pointers=pointers or None,
            by=acting_as(BuiltInRole.OPERATOR, tools, tenant_id, session, at=at),
            reason=reason,
            at=at,
        )
    call.answer(
        {"erasure": erasure, "receipt": receipt, "scrubbed": scrubbed},
        f"erased {', '.join(erasure.pointers)} of entry {sequence_number}; recorded in entry {receipt.sequence_number}"
        f"{'' if scrubbed else _LATER}",
    )
