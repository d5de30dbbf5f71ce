"""Housekeeping of truth: what was recorded is compiled, and what time has changed is compiled again.

each tenant -> keys with records that are in no state yet | keys whose window or validity ended -> new states
"""

from collections.abc import Callable, Iterable

import structlog

from assay.adapters.process_pool import InlinePool
from assay.flows.errors.truth import CompileTimeError
from assay.flows.node_facts import ledger_size, observations_after, stale_keys, tenants
from assay.flows.truth.climb_ladder import KeyLadder, ask_rung, open_ladder
from assay.flows.truth.compile_all import compile_all
from assay.flows.truth.compile_truth import StuckKey, expire_truth
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.ports.truth_store import TruthRecord
from assay.ports.validator import Engines
from assay.surfaces.http.desk import Desk
from assay.truth.contract import StageName

_log = structlog.get_logger("assay.serve")
# A few seconds of work, after which a server that is asked to stop does.
_KEYS_AT_ONCE = 512
# How many entries back a server that has just started looks for observations that no machine has judged.
_LOOK_BACK = 10_000
# Keys whose records are kept in memory while their observations climb; those longest unused go first.
_LADDERS = 32


def for_each_tenant(desk: Desk, name: str, work: Callable[[TenantId], None]) -> None:
    """What is wrong with one tenant shall not hold up another; it is logged and counted."""
    for tenant_id in tenants(desk.tools):
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


def score_new(desk: Desk) -> None:
    """One round: each new observation up the ladder, as far as engines answer; what they say makes its key stale.

    An engine that was away is asked again by the next server, not by the next round: nobody waits for it meanwhile.
    """
    if desk.engines is not None:
        engines = desk.engines
        for_each_tenant(desk, "score_new", lambda tenant_id: _score_tenant(desk, engines, tenant_id))


def _score_tenant(desk: Desk, engines: Engines, tenant_id: TenantId) -> None:
    if tenant_id not in desk.asked:
        desk.asked[tenant_id] = max(0, ledger_size(desk.tools, tenant_id) - _LOOK_BACK)
    ladders: dict[str, KeyLadder] = {}
    while page := observations_after(desk.tools, tenant_id, desk.asked[tenant_id]):
        for row in page:
            if desk.stopping.is_set():
                return
            # Before it is asked about: one that fails in a way nobody foresaw shall not come back for ever.
            desk.asked[tenant_id] = row.sequence_number
            _climb(desk, engines, tenant_id, _ladder_for(desk, tenant_id, ladders, row), row.record_hash)


def _ladder_for(desk: Desk, tenant_id: TenantId, ladders: dict[str, KeyLadder], row: TruthRecord) -> KeyLadder:
    """A key is read once for all its new observations, and again only for one that came after."""
    ladder = ladders.pop(row.truthkey, None)
    if ladder is None or row.record_hash not in ladder.said:
        ladder = open_ladder(desk.tools, tenant_id, row.truthkey)
    while len(ladders) >= _LADDERS:
        ladders.pop(next(iter(ladders)))
    ladders[row.truthkey] = ladder
    return ladder


def _climb(desk: Desk, engines: Engines, tenant_id: TenantId, ladder: KeyLadder, observation_hash: str) -> None:
    for _ in StageName:
        at = desk.tools.clock.now()
        scored = ask_rung(desk.tools, tenant_id, ladder, observation_hash, engines, at=at)
        if scored.stage is not None:
            labels = {"tenant": tenant_id, "stage": scored.stage.value, "code": scored.code or ""}
            desk.metrics.scores.labels(**labels).inc()
        if scored.score is None:
            return


def _compile_tenant(desk: Desk, tenant_id: TenantId) -> None:
    since, left = desk.compiled.get(tenant_id, (None, frozenset()))
    through, stale = stale_keys(desk.tools, tenant_id, since=since, stuck=left)
    stuck: list[StuckKey] = []
    for keys in _parts(stale):
        if desk.stopping.is_set():
            return
        tried = _compile_keys(desk, tenant_id, keys)
        # Whoever else compiled a key while the round ran did so for a later instant than that of the round.
        overtaken = [one.truthkey for one in tried if one.code == CompileTimeError.code]
        stuck += [one for one in tried if one.code != CompileTimeError.code]
        stuck += _compile_keys(desk, tenant_id, overtaken) if overtaken else ()
    desk.compiled[tenant_id] = (through, frozenset(one.truthkey for one in stuck))
    _tell(desk, tenant_id, "compile_stale", stuck)


def _compile_keys(desk: Desk, tenant_id: TenantId, keys: list[str]) -> tuple[StuckKey, ...]:
    """For the instant of now; the answer is those that could not be compiled."""
    done = compile_all(desk.tools, tenant_id, InlinePool(), at=desk.tools.clock.now(), keys=keys)
    desk.metrics.states.labels(tenant=tenant_id, cause="record").inc(done.compiled)
    return done.stuck


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
