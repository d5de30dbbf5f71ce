"""SQLite: the embedded default; one file, one writer thread, many readers.

caller -> group commit -> writer's connection (WAL, synchronous=FULL) -> disk
May import: adapters.sql, adapters.group_commit, ports and everything below.
"""
