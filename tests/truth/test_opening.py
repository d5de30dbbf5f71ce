"""Windows that open by themselves."""

from assay.truth.opening import WINDOW_POLICY, open_window
from assay.truth.window import WindowEventKind, parse_window_event, render_window_event
from tests.truth.compiling import KEY, at, flood


def test_a_window_opens_for_as_long_as_the_contract_says() -> None:
    """It is well formed, and the same whoever works it out."""
    event = open_window(flood(), KEY, at=at("12:30"))
    assert (event.kind, event.by, event.occurred_at, event.closes_at) == (
        WindowEventKind.OPENED,
        WINDOW_POLICY,
        at("12:30"),
        at("18:30"),
    )
    assert parse_window_event(render_window_event(event)) == event
    assert open_window(flood(), KEY, at=at("12:30")) == event
    assert open_window(flood(), KEY.replace("12:00Z", "13:00Z"), at=at("12:30")).event_id != event.event_id
    assert open_window(flood(), KEY, at=at("12:30"), number=2).event_id != event.event_id
