"""Kernel: the bytes that are hashed, the keys that sign, the ledger that never forgets.

value -> canonical bytes -> digest -> entry -> Merkle tree -> checkpoint -> proof
May import: nothing of ours. Must not import: any clock, any randomness, any I/O, any driver or web library.
"""
