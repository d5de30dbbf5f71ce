"""Flows: one file, one public function, one journey, read from top to bottom.

surface -> flow -> rooms and ports -> ledger
May import: ports and everything below. Must not import: adapters, config, wiring, node, surfaces.
"""
