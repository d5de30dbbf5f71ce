"""Figures: one module per row of the table, ours beside a peer, measured in the same run.

module.figures() -> Figure -> print_table
"""
