"""Verdicts: telemetry in, a verdict out that can be replayed.

signed knowledge graph -> index -> slice -> prompt -> the model's envelope -> verify -> govern -> record
May import: review, identity, kernel; numpy, inside functions only.
Must not import: other rooms, trust, ports, adapters, any clock, any I/O.
"""
