"""How the desk is run, from the file to the flows."""

from datetime import timedelta

import pytest

from assay.config import BadConfigError, parse_config
from assay.flows.review.desk_settings import DeskSettings
from assay.review.kind import TicketKind
from assay.wiring import desk_settings
from tests.wiring.test_config import GOOD

_SECTION = """
[review]
lease_seconds = 60
longest_lease_seconds = 120
escalate_before_seconds = 5
escalate_roles = ["ops_team"]
escalate_persons = ["user:olga"]
bulk_grace_seconds = 0
grace_seconds = { approval = 30 }
"""


def test_without_a_section_the_defaults_of_flow_and_file_are_the_same() -> None:
    assert desk_settings(parse_config(GOOD, {})) == DeskSettings()


def test_every_setting_reaches_the_desk() -> None:
    found = desk_settings(parse_config(GOOD + _SECTION, {}))
    assert (found.lease, found.longest_lease) == (timedelta(minutes=1), timedelta(minutes=2))
    assert (found.escalate_roles, found.escalate_persons) == (("ops_team",), ("user:olga",))
    assert found.grace == {TicketKind.APPROVAL: timedelta(seconds=30)}
    assert (found.bulk_grace, found.escalate_before) == (timedelta(0), timedelta(seconds=5))


def test_every_problem_of_the_section_is_listed() -> None:
    """A kind whose answers act at once cannot be given time to undo."""
    text = """
[review]
lease_seconds = 0
longest_lease_seconds = -1
escalate_before_seconds = -1
bulk_grace_seconds = -1
escalate_roles = ["Two Words"]
escalate_persons = ["olga"]
grace_seconds = { validation = 30, approval = -1 }
"""
    with pytest.raises(BadConfigError) as caught:
        parse_config(GOOD + text, {})
    fields = {problem.field for problem in caught.value.problems}
    assert fields == {
        "review.lease_seconds",
        "review.longest_lease_seconds",
        "review.escalate_before_seconds",
        "review.bulk_grace_seconds",
        "review.escalate_roles",
        "review.escalate_persons",
        "review.grace_seconds",
        "review.grace_seconds.approval",
    }
