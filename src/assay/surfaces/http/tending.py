"""Housekeeping of answers and actions: windows that ended, items that wait for people, effects nobody reported."""

import structlog

from assay.flows.delivery.tend_delivery import tend_delivery
from assay.flows.delivery.training import run_training
from assay.flows.permits.permits import ask_about_overdue
from assay.kernel.ids import TenantId
from assay.surfaces.http.desk import Desk
from assay.surfaces.http.rounds import for_each_tenant

_log = structlog.get_logger("assay.serve")


def tend_answers(desk: Desk) -> None:
    """One round for each tenant; a plugin that fails is logged, and its item is before people all the same."""
    for_each_tenant(desk, "tend_answers", lambda tenant_id: _tend(desk, tenant_id))


def _tend(desk: Desk, tenant_id: TenantId) -> None:
    for ticket_id in ask_about_overdue(desk.tools, tenant_id, at=desk.tools.clock.now()):
        _log.warning("effect_unknown", tenant=tenant_id, ticket=ticket_id)
    done = tend_delivery(desk.tools, tenant_id, at=desk.tools.clock.now())
    for asked in done.asked:
        _log.info("root_cause", tenant=tenant_id, item=asked.item_id, ticket=asked.ticket_id)
        if asked.plugin_problem is not None:
            _log.warning("plugin", tenant=tenant_id, item=asked.item_id, message=asked.plugin_problem)
    for job in done.triggered:
        _log.info("training", tenant=tenant_id, job=job.job_id, pairs=len(job.pair_ids))


def take_training(desk: Desk) -> None:
    """One round: the trainer takes the jobs that wait. It may take hours, on a thread that nobody else waits for."""
    for_each_tenant(desk, "take_training", lambda tenant_id: _train(desk, tenant_id))


def _train(desk: Desk, tenant_id: TenantId) -> None:
    now = desk.tools.clock.now()
    for done in run_training(desk.tools, tenant_id, at=now, is_stopping=desk.stopping.is_set):
        if done.result is not None:
            state, version = str(done.result.state), done.result.model_version
            _log.info(
                "trained", tenant=tenant_id, job=done.job.job_id, state=state, model=version, reason=done.result.reason
            )
