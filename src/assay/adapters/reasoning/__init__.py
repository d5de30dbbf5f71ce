"""Reasoning: models that judge, behind one port.

request (prompt, grammar, decoding) -> a model inside the perimeter -> raw reply with the weights that ran
May import: ports, verdicts, kernel.
"""
