"""Journeys of the review desk: every human decision, from the question to what follows.

question -> ticket -> lease -> answer of a person -> settled -> what its kind does then
May import: what flows may. Must not import: what flows must not.
"""
