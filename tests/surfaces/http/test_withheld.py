"""What is withheld is withheld through every door: read again, asked again, on the desk, in root causes and pairs."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from litestar import Litestar
from litestar.testing import TestClient

from assay.flows.claims.show_claims import ShowClaim, claim
from assay.flows.errors import NotFoundError
from assay.identity.principal import PrincipalChange
from assay.identity.risk import RiskTier
from assay.kernel.canonical import canonical_digest
from assay.kernel.ids import PrincipalId
from assay.surfaces.http.app import create_app
from assay.wiring import load_config
from tests.acting import amend_principal, caller_of
from tests.flows._delivery import SLUG, Delivery, opened_delivery
from tests.flows._people import ADMIN, TENANT
from tests.surfaces.http._house import MovedClock, refused

_SECRET = "the secret output"
_HASH = canonical_digest(_SECRET)
_HELD = "vessel.scuttle"


@dataclass
class Doors:
    """`amira` asks; `olga` operates, `rita` reviews and `vera` audits: all of them may look at what others did."""

    node: Delivery
    client: TestClient[Litestar]
    vera: str

    def get(self, path: str, by: str) -> httpx.Response:
        return self.client.get(path, headers={"x-api-key": by})

    def post(self, path: str, body: Any, by: str, **headers: str) -> httpx.Response:  # noqa: ANN401  any JSON
        return self.client.post(path, json=body, headers={"x-api-key": by, **headers})

    def ask(self, slug: str = SLUG, by: str | None = None, **headers: str) -> httpx.Response:
        return self.post("/api/v1/answers", {"query_type": slug, "question": {}}, by or self.node.amira, **headers)

    def change(self, who: str, **chosen: Any) -> None:  # noqa: ANN401  any field
        change = PrincipalChange(**chosen)
        amend_principal(self.node.tools, TENANT, PrincipalId(who), change, by=ADMIN, at=self.node.desk.at(minutes=4))


@pytest.fixture
def doors(tmp_path: Path) -> Iterator[Doors]:
    with opened_delivery(tmp_path) as opened:
        node = opened.ready(_SECRET)
        node.query(_HELD, risk_tier=RiskTier.DELETE)
        node.desk.add("user:vera", roles=("auditor",))
        tools = replace(node.tools, clock=MovedClock(node.desk.at(minutes=4)))
        with TestClient(create_app(tools, load_config(tmp_path / "node"))) as client:
            yield Doors(node, client, node.desk.session("user:vera"))


@pytest.mark.clause("pramana", "14.6")
def test_an_answer_below_the_floor_is_read_again_without_its_hash(doors: Doors) -> None:
    """The hash would confirm a guess; an auditor with no floor of their own does not get it either."""
    doors.change("user:amira", authenticity_level_floor=3)
    answer_id = doors.ask().json()["answer_id"]
    for by in (doors.node.amira, doors.vera):
        shown = doors.get(f"/api/v1/answers/{answer_id}", by)
        assert (shown.json()["output"], shown.json()["withheld"]) == (None, True)
        assert _HASH not in shown.text


@pytest.mark.clause("pramana", "14.6")
def test_a_floor_that_was_raised_since_withholds_an_earlier_answer(doors: Doors) -> None:
    """However it is asked for: read again by its id, or by the same request under the same key."""
    first = doors.ask(**{"idempotency-key": "one"})
    path = f"/api/v1/answers/{first.json()['answer_id']}"
    assert (first.json()["body"]["output"], doors.get(path, doors.node.amira).json()["output"]) == (_SECRET, _SECRET)
    old = doors.post("/api/v2/pramana/query", {"query_type": SLUG}, doors.node.amira, **{"idempotency-key": "two"})
    assert old.json()["output"] == _SECRET
    doors.change("user:amira", authenticity_level_floor=3)
    again = doors.get(path, doors.node.amira)
    assert (again.json()["output"], again.json()["withheld"]) == (None, True)
    assert _SECRET not in again.text
    assert _HASH not in again.text
    refused(doors.ask(**{"idempotency-key": "one"}), 422, "request.key_reused")
    repeated = doors.post("/api/v2/pramana/query", {"query_type": SLUG}, doors.node.amira, **{"idempotency-key": "two"})
    refused(repeated, 422, "request.key_reused")


@pytest.mark.clause("pramana", "8")
def test_the_level_is_in_the_header_of_every_route_that_answers(doors: Doors) -> None:
    told = doors.ask()
    assert told.headers["pramana-authenticity"].startswith("PRAMANA-2; ")
    shown = doors.get(f"/api/v1/answers/{told.json()['answer_id']}", doors.node.amira)
    assert shown.headers["pramana-authenticity"] == told.headers["pramana-authenticity"]
    assert shown.json()["annotation"] == told.json()["body"]["annotation"]


@pytest.mark.clause("claimbundle", "gate-recommendations")
@pytest.mark.parametrize("roles", [(), ("auditor", "ops_team", "reviewer")], ids=["no role", "every role"])
def test_whoever_asked_does_not_read_what_the_gates_hold_where_others_judge_it(
    doors: Doors, roles: tuple[str, ...]
) -> None:
    """Not on the ticket, in no list of tickets, and not as the bundle of its claims; whatever else they may read."""
    doors.change("user:amira", risk_ceiling=RiskTier.DELETE, roles=roles)
    held = doors.ask(_HELD)
    told = held.json()
    assert (told["body"]["output"], told["body"]["withheld"]) == (None, True)
    bundle = told["body"]["annotation"]["gate"]["bundle_hash"]
    [ticket] = [one["ticket_id"] for one in told["tickets"]]
    paths = [f"/api/v1/tickets/{ticket}{end}" for end in ("", "/desk", "/timeline")]
    paths += ["/api/v1/tickets", "/api/v1/desk", f"/api/v1/claims/{bundle}", "/api/v1/claims"]
    for path in paths:
        assert _SECRET not in doors.get(path, doors.node.amira).text, path
    amira = caller_of(doors.node.tools, doors.node.amira, at=doors.node.tools.clock.now())
    with pytest.raises(NotFoundError):
        claim(doors.node.tools, amira, ShowClaim(bundle_hash=bundle))
    doors.node.desk.add("user:otto", roles=("ops_team",))
    assert _SECRET in doors.get(paths[0], doors.node.desk.session("user:otto")).text


@pytest.mark.clause("pramana", "14.6")
@pytest.mark.parametrize("is_before", [True, False], ids=["floor before", "floor since"])
def test_a_root_cause_tells_nobody_an_output_below_their_floor(doors: Doors, *, is_before: bool) -> None:
    """Whoever looks at root causes, at pairs or at tickets, and whenever their floor was raised."""
    node = doors.node
    readers = {"user:olga": node.olga, "user:rita": node.rita, "user:vera": doors.vera}
    if is_before:
        doors.change("user:vera", authenticity_level_floor=3)
    answer_id = node.ask().answer_id
    item_id = str(node.fail(answer_id=answer_id)[-1].rules[0].item_id)
    ticket = node.ticket_of(item_id)
    assert (_SECRET in ticket.shown) is not is_before
    node.conclude(item_id, by=node.sam)
    names = ["/root-causes", f"/root-causes/{item_id}", "/pairs", f"/trace/{answer_id}"]
    paths = [
        "/api/v2/pramana/pairs",
        *(f"/api/v1{one}" for one in names),
        f"/api/v1/tickets/{ticket.id}",
        "/api/v1/tickets?settled=true",
    ]
    for who, by in readers.items():
        doors.change(who, authenticity_level_floor=3)
        for path in paths:
            assert _SECRET not in doors.get(path, by).text, (who, path)
        assert len(doors.get("/api/v2/pramana/pairs", by).json()) == 1
        assert doors.get(f"/api/v1/root-causes/{item_id}", by).json()["conclusion"]["concluded_by"] == "user:sam"
