"""Journeys of the registry: services, their bits, their kill switches (Forja).

announce -> verified -> index; bits and tier -> may; failures -> switch -> a person restores
May import: what flows may. Must not import: what flows must not.
"""
