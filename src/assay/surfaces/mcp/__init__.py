"""Tools for agents by the Model Context Protocol: ask, evaluate, verify, and look up what is on record.

credential + tool + arguments -> authenticate -> scope, role, bits, tier, switch -> one flow -> JSON
Only `server` and `serve` import the protocol's own package, which is an extra.
"""

__all__: list[str] = []
