"""Whatever stands in a record from outside, it is read or refused with a code; nothing crashes."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.errors import Blame, Error
from assay.truth.ai_score import parse_ai_score
from assay.truth.observation import parse_observation
from assay.truth.snapshot import parse_snapshot
from assay.truth.state import parse_truth_state
from assay.truth.vote import parse_vote
from assay.truth.window import parse_window_event
from tests.truth.records import OBSERVATION, STATE, changed
from tests.truth.test_snapshot import RECORD
from tests.truth.test_vote import SCORE, VOTE

EVENT = {
    "event_id": "e-1",
    "truthkey": VOTE["truthkey"],
    "kind": "WINDOW_OPENED",
    "by": "policy:flow_v1",
    "occurred_at": "2026-01-07T10:00:00Z",
    "closes_at": "2026-01-07T12:00:00Z",
}
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.binary(max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)


def _paths(value: object, start: str = "") -> list[str]:
    members: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path for name, part in members for path in (f"{start}{name}", *_paths(part, f"{start}{name}."))]


@pytest.mark.parametrize(
    ("parse", "record"),
    [
        (parse_observation, OBSERVATION),
        (parse_snapshot, RECORD),
        (parse_vote, VOTE),
        (parse_ai_score, SCORE),
        (parse_window_event, EVENT),
        (parse_truth_state, STATE),
    ],
)
@given(choice=st.data(), junk=JUNK)
def test_junk_anywhere_in_a_record_is_refused_with_a_code_or_is_none(
    parse: Callable[[dict[str, Any]], object], record: dict[str, Any], choice: st.DataObject, junk: object
) -> None:
    """Every refusal is one of ours and blames the input."""
    path = choice.draw(st.sampled_from(_paths(record)))
    try:
        parse(changed(record, path, junk))
    except Error as refused:
        blame = refused.blame
    else:
        blame = Blame.INPUT
    assert blame is Blame.INPUT
