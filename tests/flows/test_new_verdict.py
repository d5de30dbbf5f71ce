"""What a caller is told of a new record is what the ledger says of it to everybody later."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from assay.flows.verdicts.read_verdicts import show_verdict
from assay.verdicts.govern import Standing
from tests.flows._node import TENANT
from tests.flows._verdicts import VerdictDesk, opened_verdicts, rule


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VerdictDesk]:
    with opened_verdicts(Path(tmp_path_factory.mktemp("node"))) as opened:
        opened.judge_by(
            rule("agreed", value=50),
            rule("broken", value=20),
            rule("held", "high", value=50),
            rule("exact", metric="no2", value=20.0),
            rule("unread", kind="should", value=10),
        )
        yield opened


_RECORDS: list[dict[str, Any]] = [
    {"so2": 30},
    {"so2": 20.0, "no2": 20.0},
    {"so2": 1e17, "no2": 0.1},
    {"so2": "high", "no2": -0.0},
    {"no2": 1e-7},
    {},
]


@pytest.mark.clause("ski", "5.5")
@pytest.mark.parametrize("number", range(len(_RECORDS)))
@pytest.mark.parametrize("subject", ["stack", "nobody's"])
def test_a_new_verdict_is_told_byte_for_byte_as_it_is_read_back(desk: VerdictDesk, number: int, subject: str) -> None:
    """Final, governed, held and unmapped ones, with numbers that canonical bytes write in another way."""
    name = f"{subject}-{number}"
    told = desk.decide(_RECORDS[number], telemetry_id=name, subject=subject)
    found = show_verdict(desk.tools, TENANT, name)
    assert (told.is_new, found.is_new) == (True, False)
    assert msgspec.json.encode(told) == msgspec.json.encode(replace(found, is_new=True))
    assert told == replace(found, is_new=True)


def test_while_it_is_held_no_verdict_and_no_envelope_are_told(desk: VerdictDesk) -> None:
    told = {one.rule_id: one for one in desk.decide({"so2": 30}, telemetry_id="held-1").verdicts}
    held, final = told["held"], told["agreed"]
    assert (held.standing, held.verdict, held.envelope) == (Standing.HELD, None, None)
    assert held.ticket_id is not None
    assert (final.standing, final.ticket_id) == (Standing.FINAL, None)
    assert final.envelope is not None
