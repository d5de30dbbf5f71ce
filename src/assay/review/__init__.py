"""Review: every question to a person, and every answer, in one way.

ticket (shown, by hash) -> answer (signed, bound to that hash) -> settlement
May import: identity, kernel. Must not import: rooms, ports, adapters, any clock, any randomness, any I/O.
"""
