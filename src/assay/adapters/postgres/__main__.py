"""`python -m assay.adapters.postgres ADMIN_URL`: the administrator's step, with nothing configured yet."""

import argparse
import sys
from collections.abc import Sequence

from assay.adapters.clock import SystemClock
from assay.kernel.errors import Blame, Error

_EXIT = {Blame.ANSWER: 1, Blame.USAGE: 2, Blame.INPUT: 3, Blame.OURS: 4}


def main(arguments: Sequence[str] | None = None) -> int:
    """Provision, say what was applied, and exit as every command does."""
    options = _parser().parse_args(arguments)
    try:
        # Without the driver this import is `store.missing_driver`.
        from assay.adapters.postgres.provision import provision  # noqa: PLC0415 - see above

        applied = provision(
            options.admin_url, at=SystemClock().now(), app_role=options.app_role, reader_role=options.reader_role
        )
    except Error as error:
        sys.stderr.write(f"{error.code}: {error}\n")
        return _EXIT[error.blame]
    for migration in applied:
        sys.stdout.write(f"applied {migration.name}\n")
    sys.stdout.write("up to date\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m assay.adapters.postgres",
        description="Create roles, schema, tables and grants in a database of PostgreSQL, or bring them up to date.",
    )
    parser.add_argument("admin_url", metavar="ADMIN_URL", help="postgresql://… of somebody who may create roles")
    parser.add_argument("--app-role", default="assay_app", help="the role that Assay logs in with (default: assay_app)")
    parser.add_argument("--reader-role", help="a role that may only read, for auditors")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
