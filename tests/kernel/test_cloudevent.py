"""CloudEvents: the attributes that version 1.0 asks for, on one line."""

import json

from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from assay.kernel.cloudevent import cloud_event, render_cloud_event
from assay.kernel.instant import parse_instant


def _rendered(subject: str, body: object) -> bytes:
    return render_cloud_event(
        cloud_event(
            source="urn:assay:acme",
            position=7,
            type_="assay.verdict.recorded",
            subject=subject,
            at=parse_instant("2026-05-04T03:02:01Z"),
            ledger_sequence=41,
            body=Raw(json.dumps(body).encode()),
        )
    )


def test_an_event_carries_the_attributes_of_the_specification() -> None:
    assert json.loads(_rendered("boiler-7", {"verdict": "FLAG"})) == {
        "specversion": "1.0",
        "id": "7",
        "source": "urn:assay:acme",
        "type": "assay.verdict.recorded",
        "subject": "boiler-7",
        "time": "2026-05-04T03:02:01Z",
        "datacontenttype": "application/json",
        "ledgersequence": 41,
        "data": {"verdict": "FLAG"},
    }


@given(st.text(), st.text())
def test_whatever_is_said_an_event_is_one_line(subject: str, text: str) -> None:
    """A stream separates events by line breaks: one inside would end the event early."""
    rendered = _rendered(subject, {"text": text})
    assert not {b"\n", b"\r"} & {rendered[i : i + 1] for i in range(len(rendered))}
    assert json.loads(rendered)["subject"] == subject
