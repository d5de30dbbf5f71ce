"""Oversight: whether reviewers really look, and whether what thresholds were fitted on still holds.

committed seed -> sample -> blind answers -> kappa, times, shares, alarms;   scores in order -> martingale -> alarm
May import: claims, review, identity, kernel. Pure: seeds, answers and times are given.
"""
