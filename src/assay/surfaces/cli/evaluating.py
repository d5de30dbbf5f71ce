"""A node that can judge, opened for a command: its model, its guard, and what is not as it should be."""

from collections.abc import Iterator
from contextlib import contextmanager

from assay.config import Config
from assay.flows.tools import Tools
from assay.surfaces.cli.output import Call
from assay.wiring import open_evaluation


@contextmanager
def open_judging(call: Call, *, writable: bool) -> Iterator[tuple[Tools, Config]]:
    """Strict mode refuses to begin while a check is unmet; advisory mode begins, and each is a warning (SKI 6.1)."""
    with (
        call.open_node(writable=writable) as (tools, config),
        open_evaluation(call.home, config, tools) as evaluation,
    ):
        unmet = [] if evaluation.tools.reasoner is None else [one for one in evaluation.findings if not one.is_met]
        for one in unmet:
            call.warn(f"sovereignty is advisory: {one.check} is not met: {one.detail}")
        for warning in evaluation.warnings:
            call.warn(warning)
        yield evaluation.tools, config
