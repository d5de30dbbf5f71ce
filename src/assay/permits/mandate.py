"""A mandate: a standing approval for a bounded class of calls, so that people need not approve each of them.

terms (agent, tool, limits, budget, count, time) + call + used -> the amount that it takes, or every reason against it

Nothing is covered that the mandate does not name: an argument without a limit is refused.
"""

import re
from collections.abc import Iterable, Iterator
from decimal import Context, Decimal
from fnmatch import fnmatchcase
from typing import Any, NewType

from msgspec import Struct

from assay.identity.risk import RiskTier
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import Digest, digest_of
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant, render_instant
from assay.permits.errors import PermitError
from assay.permits.permit import ToolCall

MandateId = NewType("MandateId", str)
MOST_USES = 100_000
_ID = re.compile(r"mnd_[0-9a-z]{26}", re.ASCII)
_MOST_LIMITS = 50
_NUMBER = re.compile(r"-?\d{1,20}(?:\.\d{1,20})?(?:e[+-]?\d{1,2})?", re.ASCII)
_LONGEST_TEXT = 2000
# Sums of numbers as long as `_NUMBER` allows are exact.
_EXACT = Context(prec=500)
# What a glob is compared with: longer values are refused, so that a comparison stays cheap.
_LONGEST_VALUE = 4096


class ArgumentLimit(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one argument may be: a number in a range, one of a set, or a text that a glob matches (`*`, `?`, `[a-z]`).

    `is_optional` where a call may leave the argument out. A range takes exact decimals, as text or as a number.
    """

    argument: str
    minimum: str | None = None
    maximum: str | None = None
    one_of: tuple[str | int | bool, ...] | None = None
    pattern: str | None = None
    is_optional: bool = False


class Budget(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The sum of a numeric argument over all uses."""

    argument: str
    total: str


class MandateTerms(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What people sign. `tier` is the highest tier of the actions that it covers; PRIVILEGE is never covered."""

    agent: PrincipalId
    tool: str
    audience: str
    tier: RiskTier
    purpose: str
    limits: tuple[ArgumentLimit, ...] = ()
    budget: Budget | None = None
    count: int
    starts_at: Instant
    expires_at: Instant


class Seat(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """So many people of a role signed: a mandate replaces their approval and nobody else's."""

    role: str
    people: int


class Used(Struct, frozen=True, kw_only=True):
    """How much of a mandate is used up."""

    count: int = 0
    total: Decimal = Decimal(0)


class Coverage(Struct, frozen=True, kw_only=True):
    """Whether a mandate covers a call: `reasons` is empty then, and `amount` is what the call takes of the budget."""

    reasons: tuple[str, ...]
    amount: Decimal = Decimal(0)

    @property
    def is_covered(self) -> bool:
        return not self.reasons


def terms_hash(terms: MandateTerms) -> Digest:
    """What an approval of a mandate binds."""
    return digest_of(canonicalize(terms))


def parse_mandate_id(text: str) -> MandateId:
    if _ID.fullmatch(text) is None:
        raise PermitError.mandate_refused(f"expected a mandate: `mnd_` and 26 of `0-9 a-z`, got `{text[:80]}`")
    return MandateId(text)


def has_seats(seats: Iterable[Seat], needed: Iterable[Seat]) -> bool:
    """Whether the signatures under a mandate are those that a call would need."""
    signed = {seat.role: seat.people for seat in seats}
    return all(signed.get(seat.role, 0) >= seat.people for seat in needed)


def verify_terms(terms: MandateTerms, *, at: Instant) -> None:
    """Raise with everything that is wrong with the terms."""
    problems = tuple(_problems(terms, at))
    if problems:
        raise PermitError.mandate_refused("; ".join(problems))


def check_call(terms: MandateTerms, call: ToolCall, tier: RiskTier, used: Used, *, at: Instant) -> Coverage:
    """Compare a call with the terms and with what is used; the caller has authenticated the agent."""
    reasons = [*_time_reasons(terms, at)]
    if (call.tool, call.audience) != (terms.tool, terms.audience):
        reasons.append(f"it covers `{terms.tool}` at `{terms.audience}`, not `{call.tool}` at `{call.audience}`")
    if tier is RiskTier.PRIVILEGE or tier.rank > terms.tier.rank:
        reasons.append(f"it covers actions up to {terms.tier}, not {tier}")
    reasons += _argument_reasons(terms, call.arguments)
    if used.count >= terms.count:
        reasons.append(f"all {terms.count} uses are used up")
    amount = Decimal(0)
    if terms.budget is not None:
        found = number_of(call.arguments.get(terms.budget.argument))
        if found is None or found < 0:
            reasons.append(f"`{terms.budget.argument}` must be a number of at least 0 to be taken from the budget")
        else:
            amount, left = found, _EXACT.subtract(Decimal(terms.budget.total), used.total)
            if amount > left:
                reasons.append(f"`{terms.budget.argument}` is {amount}, but {left} of {terms.budget.total} is left")
    return Coverage(reasons=tuple(reasons), amount=amount)


def use(used: Used, amount: Decimal) -> Used:
    """What is used up after one more call of this amount."""
    return Used(count=used.count + 1, total=_EXACT.add(used.total, amount))


def number_of(value: object) -> Decimal | None:
    """A JSON number, or a text that is a plain decimal, as an exact number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = repr(value) if isinstance(value, float) else str(value)
    if _NUMBER.fullmatch(text) is None:
        return None
    return Decimal(text)


def _problems(terms: MandateTerms, at: Instant) -> Iterator[str]:
    if terms.tier is RiskTier.PRIVILEGE:
        yield "expected a tier below PRIVILEGE: no standing approval covers it"
    if not terms.purpose.strip() or len(terms.purpose) > _LONGEST_TEXT:
        yield f"expected a purpose of 1 to {_LONGEST_TEXT} characters"
    if not 1 <= terms.count <= MOST_USES:
        yield f"expected a count of 1 to {MOST_USES}, got {terms.count}"
    if not max(terms.starts_at, at) < terms.expires_at:
        yield f"expected `expires_at` in the future and after `starts_at`, got {render_instant(terms.expires_at)}"
    names = [limit.argument for limit in terms.limits]
    if len(names) > _MOST_LIMITS or len(set(names)) != len(names):
        yield f"expected at most {_MOST_LIMITS} limits, one for each argument"
    for limit in terms.limits:
        yield from limit_problems(limit)
    if terms.budget is not None:
        total = number_of(terms.budget.total)
        if total is None or total <= 0:
            yield f"expected a budget above 0, got `{terms.budget.total}`"
        if terms.budget.argument not in names:
            yield f"expected a limit for `{terms.budget.argument}`, which the budget sums"


def limit_problems(limit: ArgumentLimit) -> Iterator[str]:
    """Everything that is wrong with a limit."""
    ranged = [one for one in (limit.minimum, limit.maximum) if one is not None]
    given = [bool(ranged), limit.one_of is not None, limit.pattern is not None]
    if sum(given) != 1:
        yield f"`{limit.argument}`: expected one of a range, `one_of` and `pattern`"
    if any(number_of(one) is None for one in ranged):
        yield f"`{limit.argument}`: expected decimal numbers as ends of the range"
    elif len(ranged) == 2 and Decimal(ranged[0]) > Decimal(ranged[1]):  # noqa: PLR2004 - both ends
        yield f"`{limit.argument}`: expected `minimum` at most `maximum`"
    if limit.one_of is not None and not limit.one_of:
        yield f"`{limit.argument}`: expected at least one value in `one_of`"
    if limit.pattern is not None and not 1 <= len(limit.pattern) <= _LONGEST_TEXT:
        yield f"`{limit.argument}`: expected a pattern of 1 to {_LONGEST_TEXT} characters"


def _time_reasons(terms: MandateTerms, at: Instant) -> Iterator[str]:
    if at < terms.starts_at:
        yield f"it starts at {render_instant(terms.starts_at)}"
    if at >= terms.expires_at:
        yield f"it expired at {render_instant(terms.expires_at)}"


def _argument_reasons(terms: MandateTerms, arguments: dict[str, Any]) -> Iterator[str]:
    limits = {limit.argument: limit for limit in terms.limits}
    for name in sorted(arguments.keys() - limits.keys()):
        yield f"`{name}` has no limit in the mandate"
    for name, limit in limits.items():
        if name not in arguments:
            if not limit.is_optional:
                yield f"`{name}` is missing"
        elif (reason := outside(limit, arguments[name])) is not None:
            yield f"`{name}` {reason}"


def outside(limit: ArgumentLimit, value: object) -> str | None:
    """Why a value is not within a limit; None where it is."""
    if limit.one_of is not None:
        is_member = any(type(one) is type(value) and one == value for one in limit.one_of)
        return None if is_member else f"must be one of {', '.join(map(str, limit.one_of))}"
    if limit.pattern is not None:
        matches = isinstance(value, str) and len(value) <= _LONGEST_VALUE and fnmatchcase(value, limit.pattern)
        # A path that climbs out of a folder matches `folder/*` letter by letter.
        climbs = isinstance(value, str) and ".." in value.replace("\\", "/").split("/")
        return None if matches and not climbs else f"must match `{limit.pattern}`"
    number = number_of(value)
    if number is None:
        return "must be a number"
    if limit.minimum is not None and number < Decimal(limit.minimum):
        return f"must be at least {limit.minimum}, got {number}"
    if limit.maximum is not None and number > Decimal(limit.maximum):
        return f"must be at most {limit.maximum}, got {number}"
    return None
