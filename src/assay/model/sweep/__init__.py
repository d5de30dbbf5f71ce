"""Sweeps: cases that cover every size and every position up to the judge's limits, as plain JSON.

limits -> families (sets, conditions, exemptions, obligations, digits, scales) -> SweepCase; just beyond them -> refused
Random cases do not find a position that training missed; a sweep asks about each. What a case comes to, the verdicts
room says. May import: kernel, model.
"""
