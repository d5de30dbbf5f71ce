"""Plugins that come with the node: hypotheses from earlier conclusions, or from the local model.

May import: ports, rooms, kernel. Must not import: flows, config, surfaces.
"""
