"""`python -m bench [MODULE ...] [--strict]`: run the named bench modules, or all, and print one table.

Exit 0 when the table was printed; with `--strict`, exit 1 when a target was missed in this run.
"""

import argparse
import pkgutil
import sys
from importlib import import_module
from pathlib import Path

from bench._frame import Figure, is_met, print_table

__all__ = ["main"]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench", description="run every figure and print one table")
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="bench modules to run (default: all)")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a target was missed")
    options = parser.parse_args(argv)
    figures = [figure for name in options.modules or _module_names() for figure in _figures(name)]
    print_table(figures)
    return 1 if options.strict and not all(map(is_met, figures)) else 0


def _module_names() -> list[str]:
    names = (module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]))
    return sorted(name for name in names if not name.startswith("_"))


def _figures(name: str) -> list[Figure]:
    module = import_module(f"bench.{name}")
    if not hasattr(module, "figures"):
        return []
    print(f"bench: {name}", file=sys.stderr)
    figures: list[Figure] = module.figures()
    return figures


if __name__ == "__main__":
    raise SystemExit(main())
