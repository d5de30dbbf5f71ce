"""The rule about time: a thing is captured, then reported, then received, and none of it long ago."""

from datetime import timedelta

from assay.adapters.validators.finding import IMPOSSIBLE, PLAUSIBLE, UNLIKELY, Finding, Limits
from assay.ports.validator import Question


def check_time_plausible(question: Question, limits: Limits) -> Finding:
    """Out of order is impossible, within what clocks may differ; long ago is unlikely."""
    observation = question.observation.observation
    skew = timedelta(seconds=limits.clock_skew_seconds)
    captures = [ref.capture_time for ref in observation.evidence_refs if ref.capture_time is not None]
    if observation.reported_at - question.received_at > skew:
        return Finding(IMPOSSIBLE, "reported after it was received")
    if any(capture - observation.reported_at > skew for capture in captures):
        return Finding(IMPOSSIBLE, "captured after it was reported")
    if captures and observation.reported_at - max(captures) > timedelta(seconds=limits.oldest_capture_seconds):
        return Finding(UNLIKELY, "the newest capture is old")
    if question.received_at - observation.reported_at > timedelta(seconds=limits.longest_delay_seconds):
        return Finding(UNLIKELY, "received long after it was reported")
    return Finding(PLAUSIBLE, "captured, reported and received in order")
