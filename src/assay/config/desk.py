"""The review desk, standing approvals, and whom the registry hears."""

from msgspec import Struct

from assay.config._address import is_network
from assay.identity.problem import Problem, names_problems, parse_problems, when
from assay.kernel.ids import parse_principal_id
from assay.review.kind import KIND_RULES


class RegistryConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which announces count. Without a signature only those from `unsigned_networks`, never behind a proxy, and never
    for a service that signs. Services are fetched from public addresses, from `unsigned_networks` and from
    `service_networks`. A network is written as `10.0.0.0/8`. `max_skew_seconds` is how far their clocks may be from
    ours, up to a day.
    """

    unsigned_networks: tuple[str, ...] = ()
    service_networks: tuple[str, ...] = ()
    max_skew_seconds: int = 300


class ReviewConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The review desk. A lease ends after `lease_seconds` unless its holder asks for another length, up to
    `longest_lease_seconds`. Tickets are told to `escalate_roles` and `escalate_persons` from `escalate_before_seconds`
    before their end on. `grace_seconds` is, by kind of ticket, how long an answer can be undone before it counts; those
    given many at a time wait `bulk_grace_seconds` at least.
    """

    lease_seconds: int = 900
    longest_lease_seconds: int = 28_800
    escalate_before_seconds: int = 3600
    escalate_roles: tuple[str, ...] = ("operator",)
    escalate_persons: tuple[str, ...] = ()
    grace_seconds: dict[str, int] = {}
    bulk_grace_seconds: int = 10


class MandatesConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Standing approvals. One person may sign a mandate for up to `single_count` calls, up to `single_days` days and a
    budget of up to `single_budget`; a mandate beyond any of these needs two people.
    """

    single_count: int = 20
    single_days: int = 31
    single_budget: int = 100


def mandates_problems(mandates: MandatesConfig) -> tuple[Problem, ...]:
    problems: tuple[Problem, ...] = ()
    for name in ("single_count", "single_days", "single_budget"):
        number: int = getattr(mandates, name)
        problems += when(number < 0, f"mandates.{name}", f"expected 0 or more, got {number}")
    return problems


def review_problems(review: ReviewConfig) -> tuple[Problem, ...]:
    problems: tuple[Problem, ...] = ()
    for name, least in (("lease_seconds", 1), ("escalate_before_seconds", 0), ("bulk_grace_seconds", 0)):
        seconds: int = getattr(review, name)
        problems += when(seconds < least, f"review.{name}", f"expected {least} or more, got {seconds}")
    longest = review.longest_lease_seconds
    problems += when(
        longest < review.lease_seconds, "review.longest_lease_seconds", f"expected lease_seconds or more, got {longest}"
    )
    problems += names_problems("review.escalate_roles", tuple(sorted(review.escalate_roles)))
    for person in review.escalate_persons:
        problems += parse_problems("review.escalate_persons", parse_principal_id, person)
    undoable = {kind.value for kind, rule in KIND_RULES.items() if rule.undoable}
    for kind, seconds in review.grace_seconds.items():
        problems += when(
            kind not in undoable, "review.grace_seconds", f"expected {', '.join(sorted(undoable))}, got `{kind[:80]}`"
        )
        problems += when(seconds < 0, f"review.grace_seconds.{kind[:80]}", f"expected 0 or more, got {seconds}")
    return problems


def registry_problems(registry: RegistryConfig) -> tuple[Problem, ...]:
    skew, most = registry.max_skew_seconds, 86_400
    problems = when(not 0 < skew <= most, "registry.max_skew_seconds", f"expected 1 to {most}, got {skew}")
    for name in ("unsigned_networks", "service_networks"):
        networks: tuple[str, ...] = getattr(registry, name)
        for number, network in enumerate(networks):
            message = f"expected an address or a network such as `10.0.0.0/8`, got `{network[:80]}`"
            problems += when(not is_network(network), f"registry.{name}[{number}]", message)
    return problems
