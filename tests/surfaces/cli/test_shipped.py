"""What comes with the project is found in its folder, and in what is installed from it."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from assay.surfaces.cli.shipped import NotShippedError, find_shipped

_ROOT = Path(__file__).resolve().parents[3]
_BUILD = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"
_NEEDED = ("contracts/flood_v1.yaml", "trust/flow_v1.yaml", "graphs/energy.json", "telemetry/energy.jsonl")
_FIND = f"from assay.surfaces.cli.shipped import find_shipped; [print(find_shipped(n)) for n in {_NEEDED}]"


def test_the_shipped_contracts_are_found() -> None:
    """In the project's own folder; what is not there is our fault, and said so."""
    assert find_shipped("contracts/flood_v1.yaml") == _ROOT / "examples" / "contracts" / "flood_v1.yaml"
    with pytest.raises(NotShippedError, match="contracts/none"):
        find_shipped("contracts/none.yaml")


def test_they_are_also_in_the_wheel(tmp_path: Path) -> None:
    """Whoever installs the package can run the demonstration."""
    subprocess.run(
        [sys.executable, "-c", _BUILD, str(tmp_path)], cwd=_ROOT, check=True, capture_output=True, timeout=120
    )
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        wheel.extractall(tmp_path / "installed")
    done = subprocess.run(
        [sys.executable, "-c", _FIND],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path / "installed")},
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    beside = tmp_path / "installed" / "assay_examples"
    assert done.stdout.split() == [str(beside / name) for name in _NEEDED], done.stderr
