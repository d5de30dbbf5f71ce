"""Judges and guardians of claims outside the room: the local model, and endpoints of the operator's own.

Each answers the Protocol that the room declares (`EquivalenceJudge`, `Guardian`), or says that it cannot.
"""
