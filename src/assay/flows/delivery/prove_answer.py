"""Make the file that proves an answer to somebody with nothing but a key they trust."""

from assay.flows.delivery.answer_record import get_proven
from assay.flows.delivery.show_answer import require_own_output
from assay.flows.errors import NotFoundError
from assay.flows.ledger.prove_record import bundle_of
from assay.flows.tools import Tools
from assay.identity.principal import Principal
from assay.kernel.bundle import Attachment, Bundle
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import digest_of
from assay.kernel.ids import TenantId
from assay.ports.database import Unit

__all__ = ["OUTPUT_ATTACHMENT", "prove_answer"]

OUTPUT_ATTACHMENT = "assay-answer-output"


def prove_answer(tools: Tools, tenant_id: TenantId, answer_id: str, *, viewer: Principal | None = None) -> Bundle:
    """The entry of the answer as it was delivered first, with its output unless that was withheld.

    The output is attached in canonical bytes, whose hash is the `output_hash` in the entry. A viewer must have asked,
    and be given the output now. None is the operator of the folder, who reads the database itself.
    """
    if viewer is not None:
        require_own_output(tools, answer_id, viewer=viewer)

    def work(unit: Unit) -> Bundle:
        row = unit.delivery.find_answer(tenant_id, answer_id)
        if row is None:
            raise NotFoundError(f"tenant `{tenant_id}` has no answer `{answer_id[:80]}`")
        record = get_proven(unit, tenant_id, answer_id)
        attachments = () if record.withheld else (_attachment(answer_id, canonicalize(record.output)),)
        with tools.tiles.borrow(unit, tenant_id) as cache:
            return bundle_of(unit, tenant_id, row.sequence_number, attachments=attachments, cache=cache)

    return tools.database.read(work)


def _attachment(answer_id: str, content: bytes) -> Attachment:
    return Attachment(kind=OUTPUT_ATTACHMENT, name=f"{answer_id}.json", sha256=digest_of(content), content=content)
