"""Journeys of identity: who may come in, by what, and what each may do.

credential -> principal -> roles and scopes -> may, or why not
May import: what flows may. Must not import: what flows must not.
"""
