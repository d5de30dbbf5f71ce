"""The agents of `examples/agents`: killed, paused, approved and resumed in other processes, they delete once."""

from pathlib import Path

import pytest

from tests.surfaces.agents import killed_example
from tests.surfaces.guarded_house import House

_EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "agents"
_AGENTS = ["plain", "with_langgraph", "with_openai_agents", "with_pydantic_ai"]


class Records:
    """A folder with one record, and an agent that is to delete it."""

    def __init__(self, house: House, folder: Path, example: str, run: str) -> None:
        self._house, self._folder, self._example, self._run = house, folder, example, run
        folder.mkdir()
        (folder / "guests.txt").write_text("ada, grace\n")

    def start(self, at: str = "-") -> tuple[int, str]:
        """Run the agent in a process of its own, which kills itself at a request to the node."""
        file = str(_EXAMPLES / f"{self._example}.py")
        return self._house.start(
            killed_example.__file__, file, at, self._house.served.url, str(self._folder), self._run
        )

    def deleted(self) -> list[str]:
        log = self._folder / "deleted.log"
        return log.read_text().splitlines() if log.exists() else []


@pytest.mark.parametrize("example", _AGENTS)
def test_an_agent_pauses_is_approved_and_resumes_after_kills(house: House, tmp_path: Path, example: str) -> None:
    records = Records(house, tmp_path / "records", example, f"paused {example}")
    assert records.start("gate:after")[0] == -9
    code, told = records.start()
    assert (code, records.deleted()) == (1, [])
    (ticket,) = told.removeprefix("waiting ").split()
    assert records.start() == (1, told)
    house.approve(ticket)
    assert records.start("claim_permit:before")[0] == -9
    assert records.deleted() == []
    code, told = records.start()
    assert (code, records.deleted()) == (0, ["guests.txt"])
    assert "deleted guests.txt" in told
    assert records.start()[0] == 0
    assert records.deleted() == ["guests.txt"]


@pytest.mark.parametrize("example", _AGENTS)
def test_an_agent_that_is_killed_after_its_effect_does_not_repeat_it(
    house: House, tmp_path: Path, example: str
) -> None:
    records = Records(house, tmp_path / "records", example, f"killed {example}")
    house.approve(records.start()[1].removeprefix("waiting "))
    assert records.start("report_effect:before")[0] == -9
    code, told = records.start()
    assert (code, records.deleted()) == (0, ["guests.txt"])
    assert "is not run" in told
