"""The contracts and policies that come with the project: in its folder `examples`, or beside the installed package."""

from pathlib import Path

from assay.kernel.errors import Blame, Error

_HERE = Path(__file__).resolve()
_PLACES = (_HERE.parents[4] / "examples", _HERE.parents[3] / "assay_examples")


class NotShippedError(Error):
    """A file that comes with the project is not there."""

    code = "cli.not_shipped"
    blame = Blame.OURS


def find_shipped(name: str) -> Path:
    """The file of this name, such as `contracts/flood_v1.yaml`."""
    found = next((place / name for place in _PLACES if (place / name).is_file()), None)
    if found is None:
        raise NotShippedError(f"expected `{name}` to come with the project, got nothing")
    return found
