"""Journeys of truth: observations and votes in, signed states out (Kaori).

observation -> key -> window and votes -> compiled state -> Gold, replay, proof
May import: what flows may. Must not import: what flows must not.
"""
