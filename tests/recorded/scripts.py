"""Every script of the recorded exchanges, by the file that holds what it recorded."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.recorded.forja_script import run_forja
from tests.recorded.kaori_script import run_kaori
from tests.recorded.log_script import run_events, run_log
from tests.recorded.pramana_script import run_pramana
from tests.recorded.ski_script import run_ski

__all__ = ["CHANGES", "FOLDER", "SCRIPTS"]

FOLDER = Path(__file__).parent / "exchanges"
CHANGES = Path(__file__).parent / "changes-since-0.1.0.json"
SCRIPTS: dict[str, Callable[[Path], list[dict[str, Any]]]] = {
    "kaori-truth-2.1": run_kaori,
    "ski-3.0": run_ski,
    "pramana-1.0": run_pramana,
    "forja-0.2": run_forja,
    "log": run_log,
    "events": run_events,
}
