"""Journeys of delivery: answers marked, outcomes back to rules, root causes, pairs (PRAMANA).

question -> answer -> strands and level -> outcome -> rule counters -> root cause -> pair, next version
May import: what flows may. Must not import: what flows must not.
"""
