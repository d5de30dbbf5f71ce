"""The knowledge graph (SKI 3): eight kinds of nodes, eight kinds of edges, read from two forms, signed by the operator.

document -> parse -> validate -> sign -> open -> index
May import: kernel, identity, review. Must not import: the steps of a verdict that use the graph.
"""
