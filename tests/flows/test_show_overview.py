"""What a person sees first, and what of it is theirs to see."""

from pathlib import Path

from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.flows.registry.show_services import list_services
from assay.flows.show_overview import HELD, Overview, show_ledger_standing, show_overview
from assay.registry.errors import RegistryError
from tests.acting import looking
from tests.flows._node import TENANT
from tests.flows._verdicts import VerdictDesk, opened_verdicts, rule
from tests.raising import raises


def _seen_by(desk: VerdictDesk, name: str) -> Overview:
    person = desk.read(lambda unit: unit.identity.find_principal(TENANT, desk.add(name, roles=("auditor",)).id))
    return show_overview(desk.tools, looking(person, at=desk.at(minutes=20)))


def test_the_overview_counts_what_stands_and_what_waits(tmp_path: Path) -> None:
    """A held verdict is counted as held, its ticket waits, and what no checkpoint covers is told."""
    with opened_verdicts(tmp_path) as desk:
        desk.judge_by(rule("so2-limit"), rule("dust-limit", "high", metric="dust", value=20, subject="filter"))
        desk.decide({"so2": 20}, name="r-1")
        desk.decide({"so2": 60}, name="r-2")
        desk.decide({"dust": 45}, name="r-3", subject="filter")
        sign_checkpoint(desk.tools, TENANT, at=desk.at(minutes=15))
        seen = _seen_by(desk, "user:ada")
        assert seen.by_verdict == {HELD: 1, "FLAG": 1, "CLEAR": 1}
        assert [row.telemetry_id for row in seen.latest] == ["r-3", "r-2", "r-1"]
        assert [one.ticket.kind for one in seen.waiting] == ["attestation"]
        assert (seen.overdue, seen.agreement.is_healthy) == (0, True)
        assert seen.ledger.checkpoint is not None
        assert seen.ledger.uncovered == seen.ledger.entries - seen.ledger.checkpoint.size > 0


def test_a_ledger_without_a_checkpoint_vouches_for_nothing(tmp_path: Path) -> None:
    """All its entries are uncovered."""
    with opened_verdicts(tmp_path) as desk:
        standing = show_ledger_standing(desk.tools, TENANT)
        assert standing.checkpoint is None
        assert standing.uncovered == standing.entries > 0


def test_what_is_asked_of_others_is_not_in_somebodys_overview(tmp_path: Path) -> None:
    """Whoever looks sees the tickets that concern them; the operator of the folder sees all."""
    with opened_verdicts(tmp_path) as desk:
        desk.ticket(eligible_roles=("ops_team",))
        rita = desk.read(
            lambda unit: unit.identity.find_principal(TENANT, desk.add("user:rob", roles=("reviewer",)).id)
        )
        assert show_overview(desk.tools, looking(rita, at=desk.at(minutes=1))).waiting == ()
        assert len(show_overview(desk.tools, looking(None, at=desk.at(minutes=1))).waiting) == 1


def test_services_are_told_with_their_switches(tmp_path: Path) -> None:
    """A node that nobody announced to has itself; bits that no schema names are refused."""
    with opened_verdicts(tmp_path) as desk:
        found = list_services(desk.tools, TENANT)
        assert (found.services, found.own.is_fired, found.own.history) == ((), False, ())
        with raises(RegistryError.unknown_permission):
            list_services(desk.tools, TENANT, needs=("NO_SUCH_BIT",))
