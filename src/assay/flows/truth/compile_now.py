"""Compile a key for the present, however many do so at once.

clock -> compile for that time -> did somebody compile it for a later one meanwhile? then look at the clock again
"""

from contextlib import suppress
from functools import partial

from assay.flows.errors.truth import CompileTimeError
from assay.flows.tools import Tools
from assay.flows.truth.compile_truth import CompiledTruth, compile_truth
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant

_ATTEMPTS = 8


def compile_now(
    tools: Tools,
    tenant_id: TenantId,
    truthkey: str,
    *,
    claim_type: str | None = None,
    force: bool = False,
    fresh_trust: bool = False,
    signed_at: Instant | None = None,
    signed_at_reason: str | None = None,
) -> CompiledTruth:
    """Compile a key at the time of each attempt; a clock that stays behind the last state is still refused."""
    compiled = partial(
        compile_truth,
        tools,
        tenant_id,
        truthkey,
        claim_type=claim_type,
        force=force,
        fresh_trust=fresh_trust,
        signed_at=signed_at,
        signed_at_reason=signed_at_reason,
    )
    for _ in range(_ATTEMPTS - 1):
        with suppress(CompileTimeError):
            return compiled(at=tools.clock.now())
    return compiled(at=tools.clock.now())
