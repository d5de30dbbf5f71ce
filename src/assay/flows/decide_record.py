"""One record, judged by the runtime that the operator selected (SKI 11.4)."""

from collections.abc import Mapping

from assay.flows.decide_v2 import decide_v2
from assay.flows.decide_verdict import decide_verdict
from assay.flows.read_verdict import Decided
from assay.flows.tools import Tools
from assay.kernel.instant import Instant

__all__ = ["decide_record"]


def decide_record(tools: Tools, given: bytes | str | Mapping[str, object], *, credential: str, at: Instant) -> Decided:
    """`SKI_RUNTIME_VERSION` decides which of the two; what each refuses, this refuses."""
    decide = decide_v2 if tools.ski.is_v2 else decide_verdict
    return decide(tools, given, credential=credential, at=at)
