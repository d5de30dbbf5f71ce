"""Egress: what the evaluation path may reach, enforced in the process itself.

thread on the evaluation path -> audit hook and socket layer -> counted, and in strict mode stopped
May import: ports, kernel.
"""
