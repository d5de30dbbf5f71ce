"""Facts: for each kind of ledger entry, its body and the rows that follow from it; for each table, what its rows are.

draft -> unit.record (entry + projected rows) | row read -> compared with the projection of its entry | audit: both ways
May import: ports and everything below. Must not import: flows, adapters, wiring, surfaces, any clock, any I/O.

How to move a room (`facts/review.py` and `adapters/sql/desk_store.py` are the model):

1. Move the body types and the draft functions of `flows/ROOM/*_entry.py` into `facts/ROOM.py`.
2. For each kind of entry write `rows(entry, body) -> Iterable[Row]`, pure, and list it in `FACTS`. A row is the row
   type of `ports/*_store.py`, whose fields are the columns; it needs `sequence_number`. A table without that column
   gets it by a migration that fills it from the ledger. A column that counts rows (`position`) is no projection:
   order by `sequence_number`, or have the body say the number.
3. In `TABLES` give the table its row type, `keys` (indexed texts), `taken` (the words of a conflict) and remove
   `pending`; take it off the list in `tests/facts/test_tables.py`.
4. In the store take `rows: Rows` instead of the session (`adapters/sql/unit.py`) and read with `rows.all`, `rows.one`,
   `rows.among`, `rows.stream`: row type, then the statement from `WHERE` on. These compare every row. Statements that
   read single columns, counts or joins, and on which a decision or a door depends, read whole rows instead.
5. Delete the `add_*` methods that only inserted such a row; the flow calls `unit.record(draft)`.
6. Delete what compared rows with entries by hand (`check_*`, `vouch_*`, `*_rows`, `*_shelf`, `*_memory`) in the flow,
   and its part of `audit_ledger`: the audit follows from the declarations.

Content that an entry only commits to (a document by its hash): `Projected(Row, seal=...)`, where `seal(row)` returns
the row with the content replaced by its hash; the fact gives sealed rows, and the flow hands the whole row to
`unit.record(draft, row)`, which sets `sequence_number` and refuses a row that the entry does not commit to.
Erasable content is in a table of its own, declared `Content`.

Rows that later entries delete or replace: `Projected(Row, fold=...)`, or `Folded(Row, fold=...)` where a row follows
from several entries. `fold(rows, entry)` changes a dict of the table's rows by their key; the audit compares the
outcome. A `Folded` row is not compared when it is read: let nothing depend on it alone, or have each entry record the
state that it leads to (then the row is `Projected` from the last one).

A row that only says what its entry says, and that is always found by the number of the entry, needs no table: list
its type in `VIEWS` and read it with `rows.views` (`facts/identity.py`: versions of principals, ends of credentials).

Absence: where a missing row decides (a revocation, the newest policy), ask the ledger for the newest entry of the kind
(`flows/ledger/in_force.py`).
"""
