"""A key is compiled after something about it was recorded: what fails then is told, and never undoes the record."""

from msgspec import Struct

from assay.flows.tools import Tools
from assay.flows.truth.compile_truth import CompiledTruth, compile_truth
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant


class Recount(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The key's state with what is on disk; while it is not compiled yet, `code` and `problem` say why."""

    truthkey: str
    compiled: CompiledTruth | None = None
    code: str | None = None
    problem: str | None = None


def recount_key(tools: Tools, tenant_id: TenantId, truthkey: str, *, at: Instant) -> Recount:
    """Never raises for a refusal: the record is durable, and whoever heard of a failure would hand it in again.

    Whoever compiles the key next counts it.
    """
    try:
        return Recount(truthkey=truthkey, compiled=compile_truth(tools, tenant_id, truthkey, at=at))
    except Error as error:
        # Of any family, for the same reason.
        return Recount(truthkey=truthkey, code=error.code, problem=str(error))
