"""Journeys of the ledger: records in, proofs, checkpoints, audits, archives and reports out.

record -> personal values sealed -> chain and tree -> checkpoint -> proof, report, archive
May import: what flows may. Must not import: what flows must not.
"""
