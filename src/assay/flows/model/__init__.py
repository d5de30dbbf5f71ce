"""Journeys of models: known, measured, trained, and put to use by people.

weights -> measured -> put to a person -> in use; pairs -> trained -> measured again
May import: what flows may. Must not import: what flows must not.
"""
