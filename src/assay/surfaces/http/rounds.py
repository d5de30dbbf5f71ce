"""Housekeeping of truth: what was recorded is compiled, and what time has changed is compiled again.

each tenant -> keys with records that are in no state yet | keys whose window or validity ended -> new states
"""

from collections.abc import Callable, Iterable

import structlog

from assay.adapters.process_pool import InlinePool
from assay.flows.compile_all import compile_all
from assay.flows.expire_truth import StuckKey, expire_truth
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.surfaces.http.desk import Desk

__all__ = ["age_truth", "compile_stale", "for_each_tenant"]

_log = structlog.get_logger("assay.serve")
# A few seconds of work, after which a server that is asked to stop does.
_KEYS_AT_ONCE = 512


def for_each_tenant(desk: Desk, name: str, work: Callable[[TenantId], None]) -> None:
    """What is wrong with one tenant shall not hold up another; it is logged and counted."""
    for tenant_id in desk.tools.database.read(lambda unit: unit.ledger.tenants()):
        if desk.stopping.is_set():
            return
        try:
            work(tenant_id)
        except Error as error:
            desk.metrics.round_failures.labels(round=name, code=error.code).inc()
            _log.error(name, tenant=tenant_id, code=error.code, message=str(error))


def compile_stale(desk: Desk) -> None:
    """One round: every key whose newest record is in no state yet."""
    for_each_tenant(desk, "compile_stale", lambda tenant_id: _compile_tenant(desk, tenant_id))


def age_truth(desk: Desk) -> None:
    """One round: windows that are over get their final state, and states whose validity ended expire."""
    for_each_tenant(desk, "age_truth", lambda tenant_id: _age_tenant(desk, tenant_id))


def _compile_tenant(desk: Desk, tenant_id: TenantId) -> None:
    stale = desk.tools.database.read(lambda unit: list(unit.truth.keys(tenant_id, stale_only=True)))
    stuck: list[StuckKey] = []
    for keys in _parts(stale):
        if desk.stopping.is_set():
            return
        done = compile_all(desk.tools, tenant_id, InlinePool(), at=desk.tools.clock.now(), keys=keys)
        desk.metrics.states.labels(tenant=tenant_id, cause="record").inc(done.compiled)
        stuck += done.stuck
    _tell(desk, tenant_id, "compile_stale", stuck)


def _parts(keys: list[str]) -> Iterable[list[str]]:
    return (keys[start : start + _KEYS_AT_ONCE] for start in range(0, len(keys), _KEYS_AT_ONCE))


def _age_tenant(desk: Desk, tenant_id: TenantId) -> None:
    aged = expire_truth(desk.tools, tenant_id, at=desk.tools.clock.now())
    desk.metrics.states.labels(tenant=tenant_id, cause="time").inc(len(aged.compiled))
    _tell(desk, tenant_id, "age_truth", aged.stuck)


def _tell(desk: Desk, tenant_id: TenantId, name: str, stuck: Iterable[StuckKey]) -> None:
    told = tuple(stuck)
    desk.metrics.stuck_keys.labels(tenant=tenant_id, round=name).set(len(told))
    for one in told:
        desk.metrics.round_failures.labels(round=name, code=one.code).inc()
        _log.error(name, tenant=tenant_id, truthkey=one.truthkey, code=one.code, message=one.problem)
