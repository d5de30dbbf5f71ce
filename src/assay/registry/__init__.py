"""Registry: what a service can answer and do, who may ask for it, and the switch that takes power away.

codex.json -> manifest -> documents -> announce -> index -> who_can;   outcomes -> health -> trip -> tier -> ruling
May import: review, identity, kernel. Must not import: other rooms, trust, ports, adapters, any clock, any I/O.
"""
