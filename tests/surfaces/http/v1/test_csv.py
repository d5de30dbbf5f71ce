"""Every list of `/api/v1` is CSV for whoever asks for that: the same rows, and nothing that is calculated."""

import csv
import io
import re

import pytest

from assay.flows.csv_text import columns_of
from assay.operations.kinds import Listing
from assay.operations.table import TABLE
from assay.registry.discover import ServiceEntry
from assay.surfaces.http.v1.derive import derive_routes
from tests.surfaces.http._house import refused
from tests.surfaces.http.v1._whole import Whole

_PREFIX = "/api/v1"


def _lists(whole: Whole) -> list[str]:
    """As the description has them: an answer of `items`, by GET."""
    paths = whole.client.get("/openapi.json").json()
    found = []
    for path, methods in paths["paths"].items():
        content = methods.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
        schema = content.get("application/json", {}).get("schema", {})
        name = schema.get("$ref", "").rpartition("/")[2]
        members = paths["components"]["schemas"].get(name, schema).get("properties", {})
        if path.startswith(_PREFIX) and {"items", "next"} <= set(members):
            found.append(path)
    return found


def _asked(whole: Whole, path: str) -> str:
    state = whole.get(f"{_PREFIX}/states").json()["items"][0]["truthkey"]
    ticket = whole.get(f"{_PREFIX}/tickets?settled=true", "omar").json()["items"][0]["ticket"]["id"]
    content = whole.get(f"{_PREFIX}/graphs/active").json()["content_hash"]
    names = {"session": "sender:service:bell", "webhook_id": _webhook(whole), "content_hash": content}
    if "{mandate_id}" in path:
        names["mandate_id"] = whole.mandate(70_000)
    for name, value in names.items():
        path = path.replace(f"{{{name}}}", value)
    asked = path.replace("{key}", state).replace("{ticket_id}", ticket).replace("{principal_id}", "user:amira")
    return f"{asked}?term=kind%3Dnote" if path.endswith("/search") else asked


def _webhook(whole: Whole) -> str:
    """One that is there; each is posted nothing in a test."""
    known = whole.get(f"{_PREFIX}/webhooks").json()["items"]
    if not known:
        known = [whole.post(f"{_PREFIX}/webhooks", {"url": "https://example.org/listed"}, "omar").json()]
    return str(known[0]["webhook"]["webhook_id"])


def _read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_every_list_answers_with_its_rows_as_csv(whole: Whole) -> None:
    """By `Accept` and by `format`, with the columns of its type; the description says so."""
    whole.post(f"{_PREFIX}/states/{_seen(whole)}/compile", None)
    whole.post(f"{_PREFIX}/outcomes", whole.outcome(query_context="listed"), "bell")
    paths, document = _lists(whole), whole.client.get("/openapi.json").json()["paths"]
    assert len(paths) == len(set(paths)) > 30
    for path in paths:
        place = _asked(whole, path)
        told = whole.get(place, "omar", accept="text/csv")
        named = whole.get(f"{place}{'&' if '?' in place else '?'}format=csv", "omar")
        assert (told.status_code, told.headers["content-type"]) == (200, "text/csv; charset=utf-8"), path
        assert told.content == named.content, path
        rows, items = _read(told.text), whole.get(place, "omar").json()["items"]
        assert len(rows) == len(items), path
        assert "text/csv" in document[path]["get"]["responses"]["200"]["content"], path
        heads = next(csv.reader(io.StringIO(told.text)))
        assert all(heads), path
        for row, item in zip(rows, items, strict=True):
            plain = {name: str(value) for name, value in item.items() if isinstance(value, int) and value is not True}
            assert {name: row[name] for name in plain if row[name] not in ("true", "false")}.items() <= plain.items()


def _seen(whole: Whole) -> str:
    key: str = whole.post(f"{_PREFIX}/observations", whole.observation(60_000), "sensor").json()["truthkey"]
    return key


def test_every_list_of_the_routes_is_described_as_one(whole: Whole) -> None:
    """Nothing that is listed escapes the test before this one."""
    described = {re.sub(r"\{(\w+)\}", r"{\1:str}", path) for path in _lists(whole)}
    derived = derive_routes([one for one in TABLE if isinstance(one, Listing)])
    handled = {path for handler in derived for path in handler.paths}
    assert handled == described


def test_the_next_page_is_linked_and_pages_together_are_the_list(whole: Whole) -> None:
    place, seen = f"{_PREFIX}/entries?limit=7&format=csv", []
    while place:
        told = whole.get(place)
        seen += [int(row["sequence_number"]) for row in _read(told.text)]
        link = re.fullmatch(r'<([^>]+)>; rel="next"', told.headers.get("link", ""))
        place = link[1] if link else ""
    assert seen == list(range(1, whole.entries() + 1))


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("*/*", "application/json"),
        ("application/json, text/csv", "application/json"),
        ("text/csv;q=0.9, application/json;q=0.1", "text/csv; charset=utf-8"),
        ("text/*", "text/csv; charset=utf-8"),
        ("image/png", "application/json"),
    ],
)
def test_json_is_sent_unless_csv_is_wanted_more(whole: Whole, accept: str, media_type: str) -> None:
    assert whole.get(f"{_PREFIX}/rules", accept=accept).headers["content-type"] == media_type


def test_a_form_that_there_is_none_of_is_refused(whole: Whole) -> None:
    refused(whole.get(f"{_PREFIX}/rules?format=xml"), 422, "http.fields")


def test_a_formula_that_somebody_noted_is_no_formula(whole: Whole) -> None:
    whole.desk.add("user:calc", roles=())
    known = _read(whole.get(f"{_PREFIX}/principals?format=csv").text)
    assert {row["id"] for row in known} >= {"user:calc"}
    for row in known:
        assert not any(str(cell).startswith(("=", "+", "@")) for cell in row.values())


def test_columns_are_those_of_the_type_also_of_an_empty_list(whole: Whole) -> None:
    told = whole.get(f"{_PREFIX}/services?domain=none&format=csv")
    assert told.text == ",".join(columns_of(ServiceEntry)) + "\r\n"
