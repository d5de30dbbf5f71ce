"""Truth: observations in, a signed truth state out.

contract (YAML) + observations + snapshot + votes + scores -> compile -> state -> seal
May import: review, identity, kernel. Must not import: other rooms, trust, ports, adapters, any clock, any I/O.
"""
