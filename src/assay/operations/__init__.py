"""Operations: every request that a caller can make of a node, declared once; doors are derived from the table.

caller + request -> permission -> rate -> idempotency -> flow -> result
May import: flows and everything below. Must not import: wiring, node, surfaces, any web or command-line framework.
"""
