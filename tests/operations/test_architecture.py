"""docs/architecture.md describes what the code does: the functions that one request calls are those of the page."""

import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

import assay
from tests.surfaces.http.v1._whole import Whole, opened_whole

_PAGE = Path(__file__).parents[2] / "docs/architecture.md"
_SOURCE = Path(assay.__file__).parent
_FUNCTION = re.compile(r"^\|[^|]*\| `([\w.]+:[\w.]+)` \|", re.MULTILINE)


def _declared(heading: str) -> list[str]:
    """The functions of one table of the page, in order."""
    _, _, rest = _PAGE.read_text().partition(f"### {heading}\n")
    return _FUNCTION.findall(rest.partition("\n#")[0])


class _Noted:
    """Notes the calls of every thread that starts after it was installed, while a request runs."""

    def __init__(self) -> None:
        self.calls: list[str] | None = None

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        calls, path = self.calls, frame.f_code.co_filename
        if calls is not None and event == "call" and path.startswith(str(_SOURCE)):
            module = ".".join(Path(path).relative_to(_SOURCE).with_suffix("").parts)
            calls.append(f"{module}:{frame.f_code.co_qualname}")

    def of(self, send: Callable[[], None]) -> list[str]:
        send()
        calls = self.calls = []
        send()
        self.calls = None
        return calls


@contextmanager
def _noting() -> Iterator[_Noted]:
    before, noted = sys.getprofile(), _Noted()
    threading.setprofile(noted)
    sys.setprofile(noted)
    try:
        yield noted
    finally:
        threading.setprofile(None)
        sys.setprofile(before)


@pytest.fixture(scope="module")
def called(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    numbers = iter(range(100))

    def post(whole: Whole, place: str, body: object, by: str) -> None:
        answer = whole.post(f"/api/v1/{place}", body, by)
        assert answer.status_code == 201, answer.text

    with _noting() as noted, opened_whole(tmp_path_factory.mktemp("architecture")) as whole:
        return {
            "A telemetry record": noted.of(
                lambda: post(whole, "telemetry", whole.record(f"a-{next(numbers)}"), "sensor")
            ),
            "A question": noted.of(lambda: post(whole, "answers", whole.question(), "amira")),
        }


@pytest.mark.parametrize("heading", ["A telemetry record", "A question"])
def test_the_functions_of_the_page_are_called_once_in_its_order(called: dict[str, list[str]], heading: str) -> None:
    declared, calls = _declared(heading), called[heading]
    assert len(declared) > 10
    # Coroutines and generators are entered again whenever they go on; none of the page's functions is one.
    assert {name: calls.count(name) for name in declared} == dict.fromkeys(declared, 1)
    assert [name for name in calls if name in declared] == declared


def test_no_step_is_taken_by_another_function_of_the_same_path(called: dict[str, list[str]]) -> None:
    """Every module of the flow of a record is on the page, or one of the helpers that hold state for its steps."""
    flows = {name for name in called["A telemetry record"] if name.startswith("flows.verdicts.")}
    modules = {name.partition(":")[0] for name in flows}
    declared = {name.partition(":")[0] for name in _declared("A telemetry record")}
    helpers = {"graphs_in_use", "shelves", "sovereignty", "verdict_entry", "verdict_memory"}
    assert modules - declared == {f"flows.verdicts.{name}" for name in helpers}
