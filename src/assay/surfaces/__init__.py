"""Surfaces: who asks, and how they are answered: the command line, HTTP, the console, MCP, the Python client.

words or requests -> parse -> one flow -> print or respond; no rules live here
May import: wiring and everything below. Must not import: one surface another, unless to start it.
"""
