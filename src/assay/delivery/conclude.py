"""The conclusion of a root cause, which only a person draws (PRAMANA 10.1, 10.2).

a person's answer to the ticket -> parse_conclusion -> Siddhanta -> conclude -> Conclusion: a category, and the words
"""

from collections.abc import Collection, Mapping

from msgspec import UNSET, Struct, UnsetType

from assay.delivery._read import is_text, read_object, shape
from assay.delivery.errors import DeliveryError
from assay.delivery.plugin import Category
from assay.delivery.rule import RuleRef
from assay.delivery.workitem import WorkItem
from assay.identity.authorise import has_role
from assay.identity.principal import BuiltInRole, Principal
from assay.kernel.ids import PrincipalId, TicketId
from assay.kernel.instant import Instant, render_instant

# The choices of a root-cause ticket are the three categories, in words.
CHOICES: Mapping[Category, str] = {
    Category.ROUTING: "routing_failure",
    Category.APPLICATION: "application_failure",
    Category.RULE: "rule_failure",
}
_MAY_CONCLUDE = (BuiltInRole.REVIEWER,)
_LONGEST_TEXT = 20_000
_LONGEST_NAME = 100


class Siddhanta(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the reviewer wrote: the category, the Siddhanta, and for a wrong rule its corrected text."""

    failure_category: Category
    siddhanta: str
    sub_category: str | UnsetType = UNSET
    corrected_rule: str | UnsetType = UNSET


class Conclusion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An item closed by an authenticated person, who answers for it by name (PRAMANA 14.5)."""

    item_id: str
    rule: RuleRef
    failure_category: Category
    sub_category: str | None
    siddhanta: str
    corrected_rule: str | None
    concluded_by: PrincipalId
    concluded_at: Instant
    ticket_id: TicketId


def parse_conclusion(
    body: bytes | str, *, choice: str, sub_categories: Mapping[Category, Collection[str]] | None = None
) -> Siddhanta:
    """Read an answer to a root-cause ticket; its category must be the choice that was signed.

    Only category C says that the rule is wrong: it carries the corrected text, and the others none.
    """
    found = shape(read_object(body, DeliveryError.conclusion), Siddhanta, DeliveryError.conclusion)
    category = found.failure_category
    if choice != CHOICES[category]:
        raise DeliveryError.conclusion(
            f"expected choice `{CHOICES[category]}` for category {category}, got `{choice[:80]}`"
        )
    if not is_text(found.siddhanta, _LONGEST_TEXT):
        raise DeliveryError.conclusion(f"expected a `siddhanta` of 1 to {_LONGEST_TEXT} printable characters")
    corrected = found.corrected_rule
    if (category is Category.RULE) != (corrected is not UNSET):
        raise DeliveryError.conclusion("expected `corrected_rule` with category C, and with no other")
    if corrected is not UNSET and not is_text(corrected, _LONGEST_TEXT):
        raise DeliveryError.conclusion(f"expected a `corrected_rule` of 1 to {_LONGEST_TEXT} printable characters")
    _require_sub_category(found, sub_categories)
    return found


def conclude(
    item: WorkItem,
    found: Siddhanta,
    *,
    by: Principal | None,
    at: Instant,
    ticket_id: TicketId,
) -> Conclusion:
    """Close an item. Refuses everyone but an active person with the role; there is no other way to close one."""
    if by is None:
        raise DeliveryError.concluder("expected an authenticated person, got nobody")
    if not by.is_person() or not by.is_active(at) or not has_role(by, _MAY_CONCLUDE):
        raise DeliveryError.concluder(f"expected an active person who may conclude, got {by.kind} `{by.id}`")
    if at < item.opened_at:
        raise DeliveryError.conclusion(f"expected {render_instant(item.opened_at)} or later, got {render_instant(at)}")
    return Conclusion(
        item_id=item.item_id,
        rule=item.rule,
        failure_category=found.failure_category,
        sub_category=None if found.sub_category is UNSET else found.sub_category,
        siddhanta=found.siddhanta,
        corrected_rule=None if found.corrected_rule is UNSET else found.corrected_rule,
        concluded_by=by.id,
        concluded_at=at,
        ticket_id=ticket_id,
    )


def _require_sub_category(found: Siddhanta, known: Mapping[Category, Collection[str]] | None) -> None:
    """Optional; where the operator lists some, no other is taken (PRAMANA 10.1)."""
    name = found.sub_category
    if name is UNSET:
        return
    if not is_text(name, _LONGEST_NAME):
        raise DeliveryError.conclusion(f"expected a `sub_category` of 1 to {_LONGEST_NAME} printable characters")
    if known is not None and name not in known.get(found.failure_category, ()):
        raise DeliveryError.conclusion(f"category {found.failure_category} has no sub-category `{name[:80]}`")
