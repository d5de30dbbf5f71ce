"""Trust: authenticated signals in, a frozen snapshot of who is trusted how far out (Kaori Flow).

signals + policy (YAML) -> fold -> standings -> freeze -> TrustSnapshot
May import: truth, review, identity, kernel. Must not import: other rooms, ports, adapters, any clock, any I/O.
"""
