"""Results as text for the command line, where a line or a table of fields is not enough.

result -> lines of text; pure
May import: flows and everything below. Must not import: wiring, node, surfaces.
"""
