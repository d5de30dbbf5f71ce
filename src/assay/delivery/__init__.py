"""Delivery: every answer marked with what stands behind it, and every outcome led back to the rules that caused it.

rule -> strands -> level -> annotation;   outcome -> counters -> root cause -> a person's conclusion -> a new version
May import: review, identity, kernel. Must not import: other rooms, trust, ports, adapters, any clock, any I/O.
"""
