"""Journeys of verdicts: knowledge graphs and telemetry in, verdicts with receipts out (SKI).

graph reviewed and signed -> record -> slice -> model -> verifier -> entry, receipt, replay
May import: what flows may. Must not import: what flows must not.
"""
