"""Journeys of claims: bundles in, gated decisions out (ClaimBundle).

bundle -> facts -> gates -> decision on record -> approval -> resumed
May import: what flows may. Must not import: what flows must not.
"""
