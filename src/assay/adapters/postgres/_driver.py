"""The one place that imports the driver, so that its absence is told in our words."""

from assay.adapters.sql.errors import MissingDriverError

try:
    import psycopg as _psycopg
except ImportError as error:
    raise MissingDriverError(f"expected the extra `postgres` to be installed, got: {error}") from error

psycopg = _psycopg
