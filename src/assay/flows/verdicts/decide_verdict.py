"""Telemetry in, a verdict out (SKI 2.2): one record goes the way of `decide_many`, alone or beside others who wait."""

from collections.abc import Mapping

from assay.flows.tools import Tools
from assay.flows.verdicts.decide_many import Asked, decide_many
from assay.flows.verdicts.read_verdicts import Decided
from assay.kernel.errors import Error
from assay.kernel.instant import Instant


def decide_verdict(tools: Tools, given: bytes | str | Mapping[str, object], *, credential: str, at: Instant) -> Decided:
    """The verdicts of one record; the same record again is answered with what is recorded.

    Refused are a record that is not well formed or too far from our clock, another under a known id, a node without
    a graph or a model, weights that are not those that were named, and any attempt to leave the perimeter. A model
    that does not answer is DISCRETIONARY, with the reason on record.
    """
    [answer] = decide_many(tools, [Asked(given, at, credential)])
    if isinstance(answer, Error):
        raise answer
    return answer
