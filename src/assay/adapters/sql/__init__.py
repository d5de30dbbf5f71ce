"""SQL: the stores that both databases share, written once against a small session.

unit of work -> stores -> session -> SQLite | PostgreSQL
May import: ports and everything below. Must not import: a driver; the two databases' folders have those.
"""
