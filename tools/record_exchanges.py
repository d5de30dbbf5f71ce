"""Add responses that differ from those of version 0.1.0 on purpose: `python tools/record_exchanges.py WHY [NAME…]`.

The recorded exchanges stay as they are; what differs is kept in `changes-since-0.1.0.json` with the reason WHY. A
change that is known already keeps its reason, and one that is no more is taken out. With `--anew` as WHY the exchanges
themselves are recorded again, which only a changed script justifies, on the code of 0.1.0.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.recorded.scripts import CHANGES, FOLDER, SCRIPTS
from tests.recorded.tape import find_changes, load_changes, load_tape, render_tape


def _reason(before: dict[str, Any] | None, part: dict[str, Any], why: str) -> str:
    """A change that is known already keeps its reason."""
    known = None if before is None else {name: value for name, value in before.items() if name != "why"}
    return str(before["why"]) if before is not None and known == part else why


def main(why: str, *names: str) -> None:
    known = load_changes(CHANGES)
    for name in names or SCRIPTS:
        with tempfile.TemporaryDirectory() as folder:
            exchanges = SCRIPTS[name](Path(folder))
        path = FOLDER / f"{name}.json"
        if why == "--anew":
            path.write_text(render_tape(name, exchanges))
            print(f"{name}: {len(exchanges)} exchanges")
            continue
        found, before = find_changes(load_tape(path), exchanges), known.get(name, {})
        known[name] = {
            str(number): {"why": _reason(before.get(str(number)), part, why), **part} for number, part in found.items()
        }
        print(f"{name}: {len(found)} of {len(exchanges)} differ from 0.1.0")
    if why != "--anew":
        kept = {name: changes for name, changes in sorted(known.items()) if changes}
        CHANGES.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
