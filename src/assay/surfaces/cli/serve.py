"""`assay serve`: the HTTP interface of the node, in one process, until a signal comes."""

from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from assay.identity.problem import Problem, render_problems
from assay.kernel.errors import Blame, Error
from assay.surfaces.cli.output import Call, NodeCommand

if TYPE_CHECKING:
    # Only for the types: a command pays for these when it runs.
    import socket
    from collections.abc import Iterator

    from assay.config import Config
    from assay.flows.tools import Tools

__all__ = ["CannotServeError", "CannotStartError", "serve"]


class CannotStartError(Error):
    """The server was asked to start in a way that cannot work; the message lists everything that is wrong."""

    code = "serve.cannot_start"
    blame = Blame.USAGE


class CannotServeError(Error):
    """The server cannot start, and at least one reason is not of the caller's making; all are listed."""

    code = "serve.cannot_serve"
    blame = Blame.OURS


@click.command(cls=NodeCommand)
@click.option("--host", metavar="HOST", help="Where to listen; else `http.host` of assay.toml.")
@click.option("--port", type=click.IntRange(0, 65535), help="0 lets the system choose; else `http.port` of assay.toml.")
@click.pass_obj
def serve(call: Call, host: str | None, port: int | None) -> None:
    """Serve the HTTP interface until SIGTERM or Ctrl-C, then finish what was accepted.

    The address goes to standard output when the server is ready, logs go to standard error as JSON.

    In strict mode a node with a knowledge graph in use does not start while a check of sovereignty is unmet; one
    without a graph starts, and evaluates nothing until all are met.
    """
    from assay.surfaces.http.serve import stop_on_signals
    from assay.wiring import load_config

    config = load_config(call.home)
    place = (host or config.http.host, config.http.port if port is None else port)
    with stop_on_signals(), closing(_listen(call.home, config, place)) as bound:
        _serve(call, bound)


def _serve(call: Call, bound: "socket.socket") -> None:
    from assay.surfaces.http.app import create_app
    from assay.surfaces.http.desk import Desk
    from assay.surfaces.http.logs import log_as_json
    from assay.surfaces.http.serve import address_of, keep_house, serve_app
    from assay.wiring import open_estimator, open_models, open_node, plug_model

    log_as_json()
    url = address_of(bound)
    with (
        open_node(call.home) as (tools, config),
        open_models(call.home, config) as models,
        _judging(call.home, config, tools) as judging,
    ):
        estimator = open_estimator(config, models.general)
        app = create_app(plug_model(judging, config, models.general), config, models.engines, estimator)
        with keep_house(cast("Desk", app.state.desk)):
            serve_app(app, bound, ready=lambda: call.answer_one_of_many({"url": url}, url))


@contextmanager
def _judging(home: Path, config: "Config", tools: "Tools") -> "Iterator[Tools]":
    """The node with its model and its guard; every unmet check of SKI 6.2 is in the log (SKI 6.1)."""
    import structlog

    from assay.flows.graphs_in_use import has_graph_in_use
    from assay.wiring import open_evaluation

    with open_evaluation(home, config, tools, may_wait=not has_graph_in_use(tools)) as evaluation:
        for one in evaluation.findings:
            if evaluation.tools.reasoner is not None and not one.is_met:
                structlog.get_logger("assay.ski").warning("sovereignty", check=one.check, message=one.detail)
        yield evaluation.tools


def _listen(home: Path, config: "Config", place: tuple[str, int]) -> "socket.socket":
    """The bound socket; when anything stands in the way of starting, all of it is said at once."""
    from assay.surfaces.http.serve import listen

    faults: list[tuple[str, Error]] = []
    bound = None
    try:
        bound = listen(*place)
    except Error as error:
        faults.append(("http", error))
    faults += _node_faults(home, config)
    if bound is None or faults:
        if bound is not None:
            bound.close()
        raise _start_error(faults)
    return bound


def _node_faults(home: Path, config: "Config") -> list[tuple[str, Error]]:
    from assay.adapters.clock import SystemClock
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
        faults.append(("database", error))
    return faults


def _start_error(faults: list[tuple[str, Error]]) -> Error:
    problems = [Problem(field=place, message=f"{error} [{error.code}]") for place, error in faults]
    is_ours = any(error.blame is Blame.OURS for _, error in faults)
    return (CannotServeError if is_ours else CannotStartError)(render_problems(problems))
