"""Journeys of trust: signals in, standings folded from them.

signal -> log -> fold under the policy in force -> snapshot
May import: what flows may. Must not import: what flows must not.
"""
