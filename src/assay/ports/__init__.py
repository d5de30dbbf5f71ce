"""Ports: what flows need from the outside, as guarantees and not as mechanics.

flow -> port <- adapter
May import: rooms, review, identity, kernel. Must not import: flows, adapters, wiring, surfaces.
"""
