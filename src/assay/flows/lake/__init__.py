"""The lake: decisions, verdicts, states, outcomes and tickets as columns, which other programs read directly.

entries -> rows by table, kind and day -> Parquet files -> a signed manifest;   files + key -> verify -> what differs
Every row carries the text of its entry, and `entries` the leaf hash of all of them: rows follow from texts, texts from
leaves, and the leaves give the root of a signed checkpoint. May import: kernel, ports, flows.ledger.
"""
