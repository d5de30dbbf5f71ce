"""Permits: what was approved is what runs, at most once.

published action -> permit (signed, single use) -> claim (durable before the effect) -> report: done | failed | unknown
mandate (standing approval with limits) -> use -> permit
May import: identity, kernel. Must not import: other rooms, ports, adapters, any clock, any I/O.
"""
