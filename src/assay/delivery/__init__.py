"""Delivery: every answer marked with what stands behind it, and every outcome led back to the rules that caused it.

strands -> level -> annotation -> floor;   outcome -> counters -> trigger -> work item -> a person -> pair, new rule
May import: review, identity, kernel. Must not import: other rooms, trust, ports, adapters, any clock, any I/O.
"""
