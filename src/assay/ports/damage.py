"""What every store says when something kept cannot be read back; callers may go on with what still can."""

from assay.kernel.errors import StoreError


class DamagedRecordError(StoreError):
    """A stored record cannot be read back: the database was damaged, or changed behind our back."""

    code = "store.damaged_record"


class DamagedFileError(DamagedRecordError):
    """The database itself says that its files are damaged where it was asked to read."""

    code = "store.damaged_file"
