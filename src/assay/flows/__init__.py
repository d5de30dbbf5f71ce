"""Flows: one file, one public function, one journey, read from top to bottom; a package for each room.

surface -> flow -> rooms and ports -> ledger
What every journey needs is here beside them: the tools they work with, shared units of work, limits of time.
May import: ports and everything below. Must not import: adapters, config, wiring, node, surfaces.
"""
