"""`assay serve`: the HTTP interface of the node until a signal comes; others may wait to take over."""

import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from assay.identity.problem import Problem, render_problems
from assay.kernel.errors import Blame, Error
from assay.surfaces.cli.output import Call, NodeCommand

if TYPE_CHECKING:
    # Only for the types: a command pays for these when it runs.
    import socket
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from assay.config import Config
    from assay.flows.tools import Tools
    from assay.surfaces.http.last_call import LastCall

_LOOK_SECONDS = 0.25
_AWAY_SECONDS = 2.0


class CannotStartError(Error):
    """The server was asked to start in a way that cannot work; the message lists everything that is wrong."""

    code = "serve.cannot_start"
    blame = Blame.USAGE

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(render_problems(problems))
        self.problems = tuple(problems)


class CannotServeError(Error):
    """The server cannot start, and at least one reason is not of the caller's making; all are listed."""

    code = "serve.cannot_serve"
    blame = Blame.OURS

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(render_problems(problems))
        self.problems = tuple(problems)


@click.command(cls=NodeCommand)
@click.option("--host", metavar="HOST", help="Where to listen; else `http.host` of assay.toml.")
@click.option("--port", type=click.IntRange(0, 65535), help="0 lets the system choose; else `http.port` of assay.toml.")
@click.option("--standby", is_flag=True, help="While another process is the writer, wait; take over when it is gone.")
@click.option(
    "--workers",
    type=click.IntRange(1, 16),
    default=1,
    show_default=True,
    metavar="N",
    help="Processes: one works, the others take over.",
)
@click.option("--socket", "inherited", type=int, hidden=True)
@click.pass_obj
def serve(
    call: Call,
    host: str | None,
    port: int | None,
    *,
    standby: bool,
    workers: int,
    inherited: int | None,
) -> None:
    """Serve the HTTP interface until SIGTERM or Ctrl-C, then finish what was accepted.

    The address goes to standard output when the server is ready, logs go to standard error as JSON.

    A database has one writer. With --standby, or as one of several --workers, a process that is not the writer answers
    503 with `serve.standing_by` until it can take over. --workers is for surviving a killed process, not for speed.

    In strict mode a node with a knowledge graph in use does not start while a check of sovereignty is unmet; one
    without a graph starts, and evaluates nothing until all are met.
    """
    from assay.wiring import load_config

    # First: a server is loaded for longer than it takes to say what is wrong with its settings.
    config = load_config(call.home)
    from assay.surfaces.http.serve import last_call_after, stop_on_signals

    place = (host or config.http.host, config.http.port if port is None else port)
    last_call = last_call_after(config.http.drain_seconds)
    # A parent has nothing of the node open, and waits for processes that end by themselves.
    with stop_on_signals(last_call if workers == 1 else None):
        if inherited is not None:
            _serve_inherited(call, inherited, last_call)
            return
        may_wait = standby or workers > 1
        with closing(_listen(call.home, config, place, may_wait=may_wait)) as bound:
            if workers > 1:
                _serve_together(call, bound, workers)
            else:
                _serve(call, bound, last_call, standby=standby)


def _serve_inherited(call: Call, number: int, last_call: "LastCall") -> None:
    """As one of several: on the parent's socket, and no longer than the parent lives."""
    import socket

    from assay.surfaces.http.serve import leave_with_parent

    leave_with_parent(sys.stdin.fileno())
    with socket.socket(fileno=number) as bound:
        _serve(call, bound, last_call, standby=True, is_quiet=True)


def _serve_together(call: Call, bound: "socket.socket", workers: int) -> None:
    from assay.surfaces.http.logs import log_as_json
    from assay.surfaces.http.serve import address_of
    from assay.surfaces.http.workers import run_workers

    log_as_json()
    url = address_of(bound)
    command = [sys.executable, "-m", "assay.surfaces.cli", "serve", "--home", str(call.home), "--json"]
    run_workers(command, bound, workers, ready=lambda state: _tell(call, url, state))


def _tell(call: Call, url: str, state: str) -> None:
    """That the address answers now, and as what: to whoever reads, and to the supervisor."""
    from assay.wiring import tell_supervisor

    call.answer_one_of_many({"url": url, "state": state}, url if state == "serving" else f"{url} (standing by)")
    tell_supervisor(f"READY=1\nSTATUS={state.replace('_', ' ')}")


def _serve(call: Call, bound: "socket.socket", last_call: "LastCall", *, standby: bool, is_quiet: bool = False) -> None:
    from assay.surfaces.http.app import create_app
    from assay.surfaces.http.desk import Desk
    from assay.surfaces.http.logs import log_as_json
    from assay.surfaces.http.serve import address_of, keep_house, serve_app
    from assay.surfaces.local_socket import listen_locally
    from assay.wiring import open_models, plug_model

    log_as_json()
    url = address_of(bound)
    with (
        _opened(call, bound, standby=standby, is_quiet=is_quiet) as (tools, config),
        open_models(call.home, config) as models,
        _judging(call.home, config, tools) as judging,
    ):
        app = create_app(plug_model(judging, config, models.general), config, models.engines)
        with keep_house(cast("Desk", app.state.desk)), listen_locally(call.home) as local:
            serve_app(app, bound, ready=lambda: _tell(call, url, "serving"), last_call=last_call, local=local)


@contextmanager
def _opened(call: Call, bound: "socket.socket", *, standby: bool, is_quiet: bool) -> "Iterator[tuple[Tools, Config]]":
    """The node with the writer's place, waited for when that was asked; nothing of it is open before."""
    from assay.wiring import load_config, open_keys, open_node

    with ExitStack() as stack:
        if not standby:
            yield stack.enter_context(open_node(call.home))
            return
        # A token is opened once per process, however often we look whether the place is free.
        keys = stack.enter_context(open_keys(call.home, load_config(call.home)))
        yield _take_place(
            stack, lambda: open_node(call.home, keys=keys), lambda: _standing_by(call, bound, is_quiet=is_quiet)
        )


def _take_place(
    stack: ExitStack,
    open_node: "Callable[[], AbstractContextManager[tuple[Tools, Config]]]",
    standing_by: "Callable[[], AbstractContextManager[None]]",
) -> "tuple[Tools, Config]":
    """Try until nobody else is the writer. A server that is away for a while is waited for too."""
    import structlog

    from assay.adapters.sql.errors import CannotOpenError, ConnectionLostError, UnavailableError, WriterHeldError

    log = structlog.get_logger("assay.serve")
    try:
        return stack.enter_context(open_node())
    except (WriterHeldError, UnavailableError, ConnectionLostError) as error:
        if not isinstance(error, WriterHeldError):
            log.warning("database_away", code=error.code, message=str(error))
    with standing_by():
        while True:
            time.sleep(_LOOK_SECONDS)
            try:
                return stack.enter_context(open_node())
            except WriterHeldError:
                continue
            except (CannotOpenError, ConnectionLostError) as error:
                log.warning("database_away", code=error.code, message=str(error))
                time.sleep(_AWAY_SECONDS)


@contextmanager
def _standing_by(call: Call, bound: "socket.socket", *, is_quiet: bool) -> "Iterator[None]":
    """Answer for as long as it lasts; one of several leaves that to its parent, whose queue holds who connects."""
    import structlog

    from assay.surfaces.http.serve import address_of
    from assay.surfaces.http.standby import standing_in

    log = structlog.get_logger("assay.serve")
    log.info("standing_by")
    with ExitStack() as stack:
        if not is_quiet:
            stack.enter_context(standing_in(bound))
        _tell(call, address_of(bound), "standing_by")
        yield
    log.info("taking_over")
    if is_quiet:
        # So that the parent leaves the door to this one.
        call.answer_one_of_many({"url": address_of(bound), "state": "taking_over"}, "taking over")


@contextmanager
def _judging(home: Path, config: "Config", tools: "Tools") -> "Iterator[Tools]":
    """The node with its model and its guard; every unmet check of SKI 6.2 is in the log (SKI 6.1)."""
    import structlog

    from assay.flows.verdicts.graphs_in_use import has_graph_in_use
    from assay.wiring import open_evaluation

    with open_evaluation(home, config, tools, may_wait=not has_graph_in_use(tools)) as evaluation:
        for one in evaluation.findings:
            if evaluation.tools.reasoner is not None and not one.is_met:
                structlog.get_logger("assay.ski").warning("sovereignty", check=one.check, message=one.detail)
        for warning in evaluation.warnings:
            structlog.get_logger("assay.ski").warning("model", message=warning)
        yield evaluation.tools


def _listen(home: Path, config: "Config", place: tuple[str, int], *, may_wait: bool) -> "socket.socket":
    """The bound socket; when anything stands in the way of starting, all of it is said at once."""
    from assay.surfaces.http.serve import listen

    faults: list[tuple[str, Error]] = []
    bound = None
    try:
        bound = listen(*place)
    except Error as error:
        faults.append(("http", error))
    faults += _node_faults(home, config, may_wait=may_wait)
    if bound is None or faults:
        if bound is not None:
            bound.close()
        raise _start_error(faults)
    return bound


def _node_faults(home: Path, config: "Config", *, may_wait: bool) -> list[tuple[str, Error]]:
    from assay.adapters.clock import SystemClock
    from assay.adapters.sql.errors import WriterHeldError
    from assay.wiring import open_database, open_keys

    faults: list[tuple[str, Error]] = []
    with open_keys(home, config) as keys:
        for name, place in config.keys.places().items():
            try:
                keys.load(place)
            except Error as error:
                faults.append((f"keys.{name}", error))
    try:
        open_database(home, config, at=SystemClock().now(), writable=True).close()
    except Error as error:
        if not (may_wait and isinstance(error, WriterHeldError)):
            faults.append(("database", error))
    return faults


def _start_error(faults: list[tuple[str, Error]]) -> Error:
    problems = [Problem(field=place, message=f"{error} [{error.code}]") for place, error in faults]
    is_ours = any(error.blame is Blame.OURS for _, error in faults)
    return (CannotServeError if is_ours else CannotStartError)(problems)
