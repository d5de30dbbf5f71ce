"""Truth: observations in, a signed truth state out; for now, where and when a truth is addressed.

event time + place or artefact -> bucket -> truth key
May import: review, identity, kernel. Must not import: other rooms, trust, ports, adapters, any clock, any I/O.
"""
