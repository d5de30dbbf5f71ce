"""Adapters: what supplies the ports; each knows one outside thing and nothing of the flows.

port <- adapter -> database, file, token, network
May import: ports and everything below. Must not import: flows, config, wiring, node, surfaces.
"""
