"""Models of tests, with their evaluations and activations."""

from assay.facts.model import activated_entry, added_entry, evaluated_entry
from assay.kernel.digest import Digest, digest_of
from assay.kernel.ids import PrincipalId, TenantId, TicketId
from assay.kernel.ledger import Draft
from assay.model.figures import Figures, MarkedCase, count_cases
from assay.model.manifest import Manifest
from assay.model.weights import Shape
from assay.ports.database import Unit
from tests.contract._kit import AT
from tests.contract._records import ACME

__all__ = [
    "CHILD",
    "OLGA",
    "RITA",
    "SEALED",
    "SHIPPED",
    "activated",
    "evaluated",
    "figures",
    "fill_models",
    "manifest",
    "model",
]

SHIPPED = digest_of(b"shipped")
CHILD = digest_of(b"child")
SEALED = digest_of(b"sealed")
OLGA = PrincipalId("user:olga")
RITA = PrincipalId("user:rita")


def manifest(weights: Digest = CHILD, parent: Digest | None = SHIPPED) -> Manifest:
    return Manifest(
        name="assay-judge",
        version="1.0.1",
        weight_hash=weights,
        size=455499,
        shape=Shape(vocabulary=512, width=64, layers=2, heads=4, inner=128),
        parameters=455000,
        prompt_template_id="judge-1",
        parent_hash=parent,
    )


def figures(right: int, wrong: int = 0) -> Figures:
    """Figures with rates that are whole numbers and others that are not."""
    good = MarkedCase(expected="FLAG", got="FLAG", agreed=True, assertions=(("threshold", True), ("deadline", True)))
    bad = MarkedCase(expected="FLAG", got="CLEAR", agreed=False, assertions=(("deadline", False),))
    return count_cases([good] * right + [bad] * wrong)


def model(weights: Digest = CHILD, *, parent: Digest | None = SHIPPED, tenant_id: TenantId = ACME) -> Draft:
    return added_entry(tenant_id, manifest(weights, parent), by=OLGA, at=AT)


def evaluated(weights: Digest = CHILD, found: Figures | None = None) -> Draft:
    return evaluated_entry(ACME, weights, SEALED, found or figures(2, 1), by=OLGA, at=AT)


def activated(weights: Digest = CHILD, *, before: Digest = SHIPPED, ticket: str = "tkt_1") -> Draft:
    return activated_entry(ACME, weights, before, ticket_id=TicketId(ticket), by=RITA, at=AT)


def fill_models(unit: Unit) -> None:
    """One row at least in every table."""
    for draft in (model(), evaluated(), activated()):
        unit.record(draft)
