"""An answer is read again: marked as it was, by the reader's floor as it is now, and its output for its asker alone."""

from msgspec import Struct
from msgspec.structs import replace

from assay.delivery.annotate import AnswerBody, deliver, seal_body
from assay.flows.delivery.answer_record import get_proven
from assay.flows.errors import NotFoundError
from assay.flows.tools import Tools
from assay.identity.authorise import require_role
from assay.identity.principal import BuiltInRole, Principal
from assay.ports.database import Unit

__all__ = ["ShownAnswer", "require_own_output", "show_answer"]

_SEE_ALL = (BuiltInRole.AUDITOR, BuiltInRole.OPERATOR, BuiltInRole.REVIEWER)


class ShownAnswer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`body` is sealed as it is shown; it holds no output for anybody but the asker."""

    answer_id: str
    query_type: str
    asked_by: str
    body: AnswerBody
    sequence_number: int


def show_answer(tools: Tools, answer_id: str, *, viewer: Principal) -> ShownAnswer:
    """For its asker, and for those who look at what others do; what was once withheld stays so, its hash included."""

    def look(unit: Unit) -> ShownAnswer:
        row = unit.delivery.find_answer(viewer.tenant_id, answer_id)
        if row is None:
            raise NotFoundError(f"`{viewer.tenant_id}` has no answer `{answer_id[:80]}`")
        is_own = row.asked_by == viewer.id
        if not is_own:
            require_role(viewer, _SEE_ALL)
        record = get_proven(unit, viewer.tenant_id, answer_id)
        body = deliver(
            record.output,
            record.annotation,
            floor=viewer.authenticity_level_floor,
            was_withheld=record.withheld,
        )
        return ShownAnswer(
            answer_id=answer_id,
            query_type=row.query_type,
            asked_by=row.asked_by,
            body=body if is_own else replace(body, output=None),
            sequence_number=row.sequence_number,
        )

    shown, signer = tools.database.read(look), tools.ledger_signer
    return replace(shown, body=seal_body(shown.body, key_id=signer.key_id, sign=signer.sign))


def require_own_output(tools: Tools, answer_id: str, *, viewer: Principal) -> None:
    """Raise unless this viewer asked and is given the output now: to all others, what tells of it is not there."""
    shown = show_answer(tools, answer_id, viewer=viewer)
    if shown.asked_by != viewer.id or shown.body.withheld:
        raise NotFoundError(f"`{viewer.tenant_id}` has no output of answer `{answer_id[:80]}` for `{viewer.id}`")
