"""Estimates: how uncertain an answer is, by which method, at what cost, and judged by whom.

answers | log-probabilities | calibration scores -> Estimate(value, method, interpretation, recommendation, cost, judge)
May import: claims, review, identity, kernel. numpy is imported inside functions only, so that gates never load it.
"""
