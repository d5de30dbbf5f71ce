"""One process that serves: a bound socket, an open node, uvicorn, and threads that keep house.

SIGTERM -> not ready, streams end, each answer is its connection's last -> `http.drain_seconds` later accept no more
-> finish the requests in hand, and those on their way -> stop housekeeping -> close the database, draining its queue
A database that hangs holds this up at any step; when the time of all of them is over, the process ends as it stands.
"""

import os
import signal
import socket
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import EACCES, EADDRINUSE
from types import FrameType
from typing import NamedTuple, Never

import structlog
import uvicorn
from litestar import Litestar

from assay.adapters.bus.inprocess import Bus, Subscription
from assay.adapters.group_commit import WriterStoppedError
from assay.adapters.webhooks.sender import HttpWebhookSender
from assay.delivery.webhook import Webhook
from assay.flows.answer_once import forget_requests
from assay.flows.delivery.tend_delivery import tend_delivery
from assay.flows.delivery.training import run_training
from assay.flows.delivery.webhooks import Interrupted, cursor_name, list_webhooks, post_due, post_event
from assay.flows.ledger.audit_ledger import compare_sample
from assay.flows.ledger.checkpoint_growth import ask_witnesses, checkpoint_growth
from assay.flows.ledger.seal_index import seal_index
from assay.flows.ledger.witness_standing import witness_lags
from assay.flows.node_facts import commit_nothing, tenants
from assay.flows.permits.permits import ask_about_overdue
from assay.flows.review.follow_ups import ROOM_FOLLOW_UPS
from assay.flows.review.settle_reviews import settle_reviews
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.term_index import MAX_SEGMENT
from assay.ports.events import OutboxEvent
from assay.ports.webhook_sender import WebhookSender
from assay.surfaces.http.desk import Desk
from assay.surfaces.http.drain import DrainingServer, parting
from assay.surfaces.http.errors import HttpError
from assay.surfaces.http.last_call import LastCall
from assay.surfaces.http.registry import SWITCH_SECONDS, WATCH_SECONDS, tend_switch, watch_registry
from assay.surfaces.http.rounds import age_truth, compile_stale, for_each_tenant, score_new

_DRAIN_SECONDS = 60
# For housekeeping and the database; with the longest draining it is still less than supervisors wait.
_CLOSE_SECONDS = 5
_BACKLOG = 2048
_FORGET_SECONDS = 3600
# Rows of each table that are compared with their entries in one round.
_SAMPLE = 10
_BEGIN_SECONDS = 5
_WATCH_WRITER_SECONDS = 1
_log = structlog.get_logger("assay.serve")


class _Post(NamedTuple):
    subscription: Subscription
    removed: threading.Event


class WebhookPost:
    """All webhooks of one server; a slow or dead endpoint holds up its own events and nobody else's."""

    def __init__(self, desk: Desk, sender: WebhookSender | None = None) -> None:
        self._desk = desk
        self._sender = sender or HttpWebhookSender(allowed=desk.config.delivery.webhook_hosts)
        self._bus = Bus(desk.tools.database)
        self._posts: dict[tuple[TenantId, str], _Post] = {}
        self._replaying: set[str] = set()

    def sync_webhooks(self, desk: Desk) -> None:
        """One round: begin with those that were added, leave those that were removed, post what is due again."""
        for_each_tenant(desk, "sync_webhooks", self._sync)

    def close(self) -> None:
        """Before the database is closed; an event that waits for its next attempt comes again."""
        self._desk.stopping.set()
        for post in self._posts.values():
            post.removed.set()
        self._bus.close()

    def _sync(self, tenant_id: TenantId) -> None:
        shown = {one.webhook.webhook_id: one for one in list_webhooks(self._desk.tools, tenant_id)}
        for key, post in list(self._posts.items()):
            if key[0] == tenant_id and key[1] not in shown:
                post.removed.set()
                self._bus.unsubscribe(post.subscription)
                del self._posts[key]
        for name, one in shown.items():
            if (tenant_id, name) not in self._posts:
                self._posts[(tenant_id, name)] = self._begin(tenant_id, one.webhook)
            if one.due and name not in self._replaying:
                self._replay(tenant_id, one.webhook)

    def _begin(self, tenant_id: TenantId, webhook: Webhook) -> _Post:
        removed = threading.Event()
        handler = self._handler(webhook, removed)
        return _Post(self._bus.subscribe(cursor_name(webhook.webhook_id), tenant_id, handler), removed)

    def _handler(self, webhook: Webhook, removed: threading.Event) -> Callable[[OutboxEvent], None]:
        def handle(event: OutboxEvent) -> None:
            if removed.is_set():
                raise Interrupted
            wait = lambda seconds: not removed.wait(seconds)  # noqa: E731 - one line of its own
            if not post_event(self._desk.tools, webhook, event, self._sender, wait=wait):
                _log.warning("webhook", webhook=webhook.webhook_id, position=event.position, message="given up")

        return handle

    def _replay(self, tenant_id: TenantId, webhook: Webhook) -> None:
        """On a thread of its own: an endpoint that is slow shall not hold up the round."""
        name = webhook.webhook_id
        self._replaying.add(name)

        def replay() -> None:
            try:
                going_on = lambda: not self._desk.stopping.is_set()  # noqa: E731 - as above
                post_due(self._desk.tools, tenant_id, webhook, self._sender, going_on=going_on)
            finally:
                self._replaying.discard(name)

        threading.Thread(target=replay, name=f"assay-replay-{name}", daemon=True).start()


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


def listen(host: str, port: int) -> socket.socket:
    """A socket that accepts nothing yet; port 0 lets the system choose."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise HttpError.cannot_listen(f"expected an address of this machine, got `{host}`: {error}") from error
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as error:
        bound.close()
        advice = "; choose another with --port or `http.port`" if error.errno in (EADDRINUSE, EACCES) else ""
        raise HttpError.cannot_listen(
            f"`{host}` port {port} cannot be listened on: {error.strerror}{advice}"
        ) from error
    return bound


def address_of(bound: socket.socket) -> str:
    """The URL under which it is reached, with the real port."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def last_call_after(drain_seconds: float) -> LastCall:
    """For a server that drains for so long: all the time that there is from the first signal to the end."""
    return LastCall(drain_seconds + _DRAIN_SECONDS + _CLOSE_SECONDS)


def serve_app(
    app: Litestar,
    bound: socket.socket,
    *,
    ready: Callable[[], None],
    last_call: LastCall | None = None,
    local: socket.socket | None = None,
) -> None:
    """Answer until a signal comes, then finish what was begun; `local` is the node's own socket, served as well."""
    desk = app.state.desk
    is_node = isinstance(desk, Desk)
    config = uvicorn.Config(
        parting(app, desk.draining) if is_node else app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="on",
        backlog=_BACKLOG,
        timeout_graceful_shutdown=_DRAIN_SECONDS,
    )
    drain_seconds = desk.config.http.drain_seconds if is_node else 0
    lost = desk.writer_lost if is_node else threading.Event()

    def leave() -> None:
        if last_call is not None:
            last_call.begin()
        _end_streams(desk)

    server = DrainingServer(config, ready, leave, drain_seconds=drain_seconds, lost=lost, local=local)
    server.run(sockets=[bound])
    if lost.is_set():
        raise HttpError.writer_lost("the writer stopped after a commit that failed; what was acknowledged is on disk")


def _end_streams(desk: object) -> None:
    """Those of a node; a witness has none. Readers come back, to another process, where they were."""
    if not isinstance(desk, Desk):
        return
    desk.draining.set()
    desk.fanout.close()
    if desk.registry is not None:
        desk.registry.shelf.close()


@contextmanager
def stop_on_signals(last_call: LastCall | None = None) -> Iterator[None]:
    """Signals before and after the server's own time end the process in order, closing what was opened.

    uvicorn raises a signal it handled once more when it is done; the default would kill us before the database closes.
    Where that hangs, `last_call` ends it.
    """

    def leave(_number: int, _frame: FrameType | None) -> Never:
        if last_call is not None:
            last_call.begin()
        raise SystemExit(0)

    wanted: dict[signal.Signals, Callable[[int, FrameType | None], object]]
    wanted = {signal.SIGTERM: leave, signal.SIGINT: leave}
    # Whoever ignores it, as `nohup` does, goes on when the terminal is closed.
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        wanted[signal.SIGHUP] = _leave_in_order
    before = {number: signal.signal(number, handler) for number, handler in wanted.items()}
    try:
        yield
    finally:
        if last_call is not None:
            last_call.close()
        for number, handler in before.items():
            signal.signal(number, handler)


def leave_with_parent(pipe: int) -> None:
    """Be told to end, as by a signal, when the other end of the pipe closes: its holder died or let go."""

    def wait() -> None:
        while os.read(pipe, 1024):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="assay-parent", daemon=True).start()


@contextmanager
def keep_house(desk: Desk) -> Iterator[None]:
    """While serving: sign a checkpoint of each grown ledger, settle tickets and compile keys whose time has come."""
    node = desk.config.node
    post = WebhookPost(desk)
    rounds = (
        (watch_writer, _WATCH_WRITER_SECONDS),
        (sign_grown, node.checkpoint_seconds),
        (index_grown, node.checkpoint_seconds),
        (settle_overdue, node.review_sweep_seconds),
        (score_new, node.score_seconds),
        (compile_stale, node.compile_seconds),
        (age_truth, node.truth_sweep_seconds),
        (watch_registry, WATCH_SECONDS),
        (tend_switch, SWITCH_SECONDS),
        (tend_answers, desk.config.delivery.sweep_seconds),
        (take_training, desk.config.delivery.sweep_seconds),
        (post.sync_webhooks, desk.config.delivery.sweep_seconds),
        (forget_answers, _FORGET_SECONDS),
        (sample_rows, node.sample_seconds),
    )
    threads = [
        threading.Thread(target=_repeat, args=(work, desk, seconds), name=f"assay-{work.__name__}")
        for work, seconds in rounds
        if seconds
    ]
    first = threading.Thread(target=_begin, args=(desk,), name="assay-begin")
    first.start()
    # A witness that does not answer delays the start by this much, and no more.
    first.join(_BEGIN_SECONDS)
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        desk.stopping.set()
        for thread in (first, *threads):
            thread.join()
        post.close()
        if node.checkpoint_seconds and not desk.writer_lost.is_set():
            _once(sign_grown, desk)


def _begin(desk: Desk) -> None:
    """Sign what grew since the last checkpoint, and hear whether the witnesses know this history."""
    if desk.config.node.checkpoint_seconds:
        _once(sign_grown, desk)
    _once(lambda begun: ask_witnesses(begun.tools), desk, "ask_witnesses")
    for name, said in desk.tools.standing.contradictions().items():
        _log.error("witness_contradicts", witness=name, message=said)


def _repeat(work: Callable[[Desk], None], desk: Desk, seconds: int) -> None:
    while not desk.stopping.wait(seconds):
        _once(work, desk)


def _once(work: Callable[[Desk], None], desk: Desk, name: str | None = None) -> None:
    try:
        work(desk)
    except Exception as error:  # noqa: BLE001 - the next round may succeed, and the thread must live to try it
        code = error.code if isinstance(error, Error) else "http.internal"
        desk.metrics.round_failures.labels(round=name or work.__name__, code=code).inc()
        _log.error(name or work.__name__, code=code, traceback="".join(traceback.format_exception(error)))


def watch_writer(desk: Desk) -> None:
    """One round: a writer that stopped accepts nothing more; the process ends, and another takes the place.

    Writing nothing costs no flush, and finds out that the server of the database is gone before anybody asks.
    """
    try:
        commit_nothing(desk.tools.database)
    except WriterStoppedError as error:
        if not desk.writer_lost.is_set():
            _log.error("writer_lost", code=error.code, message=str(error))
        desk.writer_lost.set()


def settle_overdue(desk: Desk) -> None:
    """One round: an approval that nobody gave in time becomes a denial, on record."""
    for_each_tenant(desk, "settle_overdue", lambda tenant_id: _settle_tenant(desk, tenant_id))


def _settle_tenant(desk: Desk, tenant_id: TenantId) -> None:
    sweep = settle_reviews(desk.tools, tenant_id, at=desk.tools.clock.now(), follow_ups=ROOM_FOLLOW_UPS)
    for settlement in sweep.settled:
        _log.info("review", tenant=tenant_id, ticket=settlement.ticket_id, reason=settlement.reason)
    for effect in sweep.effects:
        _log.info("held_answer", tenant=tenant_id, ticket=effect.ticket_id, state=effect.state, code=effect.code)
    for told in sweep.escalated:
        _log.warning("escalated", tenant=tenant_id, ticket=told.ticket_id, stage=told.stage)
    if sweep.problem is not None:
        desk.metrics.round_failures.labels(round="oversee", code=sweep.problem.partition(":")[0]).inc()
        _log.error("oversight", tenant=tenant_id, message=sweep.problem)
    for stuck in sweep.stuck:
        desk.metrics.round_failures.labels(round="settle_overdue", code=stuck.code).inc()
        _log.error("review", tenant=tenant_id, ticket=stuck.ticket_id, code=stuck.code, message=stuck.problem)


def forget_answers(desk: Desk) -> None:
    """One round: answers that were kept for requests to be sent again are deleted after a day."""
    forget_requests(desk.tools, at=desk.tools.clock.now())


def sample_rows(desk: Desk) -> None:
    """One round: compare some rows of every table with their entries; what differs is logged, and `/readyz` says so."""
    for_each_tenant(desk, "sample_rows", lambda tenant_id: _sample_tenant(desk, tenant_id))


def _sample_tenant(desk: Desk, tenant_id: TenantId) -> None:
    compare_sample(desk.tools, tenant_id, _SAMPLE)


def index_grown(desk: Desk) -> None:
    """One round: a ledger that has grown by a whole segment is indexed; the checkpoint after it covers the index."""
    for_each_tenant(desk, "index_grown", lambda tenant_id: _index_tenant(desk, tenant_id))


def _index_tenant(desk: Desk, tenant_id: TenantId) -> None:
    for segment in seal_index(desk.tools, tenant_id, at=desk.tools.clock.now(), at_least=MAX_SEGMENT):
        _log.info("index", tenant=tenant_id, first=segment.first, last=segment.last)


def sign_grown(desk: Desk) -> None:
    """One round: sign what has grown, log each attempt, count each failure."""
    for attempt in checkpoint_growth(desk.tools, at=desk.tools.clock.now()):
        if attempt.error is None:
            _log.info("checkpoint", tenant=attempt.tenant_id, size=attempt.size)
        else:
            desk.metrics.round_failures.labels(round="sign_grown", code=attempt.error.code).inc()
            _log.error("checkpoint", tenant=attempt.tenant_id, code=attempt.error.code, message=str(attempt.error))
    for tenant_id in tenants(desk.tools):
        for lag in witness_lags(desk.tools, tenant_id):
            desk.metrics.witness_lag.labels(tenant=tenant_id, witness=lag.witness).set(lag.entries_behind)


def _leave_in_order(_number: int, _frame: FrameType | None) -> None:
    """As the signal that uvicorn knows: what was begun is finished."""
    os.kill(os.getpid(), signal.SIGTERM)
