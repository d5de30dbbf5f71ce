"""Tools for agents by the Model Context Protocol: the operations of the table that have a `tool`.

credential + tool + arguments -> authenticate -> dispatch, or the server that runs on the folder -> JSON
Only `server` and `serve` import the protocol's own package, which is an extra.
"""

__all__: list[str] = []
