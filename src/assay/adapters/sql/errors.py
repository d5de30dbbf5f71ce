"""What a database can answer instead of doing as it was asked, in the words of either database.

StoreError
├── CannotOpenError         store.cannot_open       not a database we can open
│   └── UnavailableError    store.unavailable       not now: its server is away, its disk full, or others lock it
├── WriterHeldError         store.writer_held       another process is the writer
├── UnsafeServerError       store.unsafe_server     the server does not keep what it acknowledges
├── StrongRoleError         store.strong_role       the role could switch the protection off
├── MissingDriverError      store.missing_driver    the extra of that database is not installed
├── AppendOnlyError         store.append_only       what is recorded stays as it is
├── NotPermittedError       store.not_permitted     the role lacks the right
├── StatementError          store.statement         any other refusal
│   └── RowRefusedError     store.row_refused       values that the database does not take
├── ConnectionLostError     store.connection_lost   the server is gone
├── FileTakenError          store.file_taken        a file of the database has lost its name
└── TransactionLostError    store.transaction_lost  the database ended the transaction by itself
LedgerError
└── BrokenLinkError         ledger.broken_link      a row that does not follow the row before it
"""

from assay.kernel.errors import Blame, LedgerError, StoreError


class CannotOpenError(StoreError):
    """This is not a database we can open."""

    code = "store.cannot_open"
    blame = Blame.USAGE


class UnavailableError(CannotOpenError):
    """It cannot be opened now: its server is away or refuses us, its disk is full or fails, or others lock it."""

    code = "store.unavailable"
    blame = Blame.OURS


class WriterHeldError(StoreError):
    """Another process is this database's writer; this one is fenced and writes nothing."""

    code = "store.writer_held"
    blame = Blame.ANSWER


class UnsafeServerError(StoreError):
    """The server is set up to acknowledge what it has not flushed."""

    code = "store.unsafe_server"
    blame = Blame.USAGE


class StrongRoleError(StoreError):
    """The role that opened the database could change what is recorded; open it with one that cannot."""

    code = "store.strong_role"
    blame = Blame.USAGE


class MissingDriverError(StoreError):
    """The driver of that database is not installed."""

    code = "store.missing_driver"
    blame = Blame.USAGE


class AppendOnlyError(StoreError):
    """The storage layer refused to change or delete what is recorded (SKI 7.2)."""

    code = "store.append_only"


class BrokenLinkError(LedgerError):
    """The storage layer refused a row that does not follow the row before it."""

    code = "ledger.broken_link"


class NotPermittedError(StoreError):
    """The database's role lacks the right to do that."""

    code = "store.not_permitted"


class StatementError(StoreError):
    """The database refused a statement."""

    code = "store.statement"


class RowRefusedError(StatementError):
    """The database does not take these values; nothing of what they belong to was stored."""

    code = "store.row_refused"
    blame = Blame.INPUT


class ConnectionLostError(StoreError):
    """The connection to the server is gone; what was not acknowledged may or may not be there."""

    code = "store.connection_lost"


class FileTakenError(StoreError):
    """A file of the database was taken away or put elsewhere under its writer, which therefore acknowledges nothing."""

    code = "store.file_taken"


class TransactionLostError(StoreError):
    """The database ended the transaction by itself, so nothing more may be written as if it were open."""

    code = "store.transaction_lost"
