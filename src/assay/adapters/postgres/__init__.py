"""PostgreSQL: one fenced writer, COPY, and an append-only schema that the application does not own.

caller -> group commit -> writer's connection (advisory lock, synchronous_commit on) -> server
May import: adapters.sql, adapters.group_commit, ports and everything below. Importing any module of this package
without the driver is `store.missing_driver`; the extra `postgres` brings it.
"""
