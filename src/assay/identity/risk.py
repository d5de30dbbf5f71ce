"""ClaimBundle's five risk tiers, compared by rank and never by spelling."""

from enum import StrEnum

from assay.identity.errors import IdentityError


class RiskTier(StrEnum):
    """READ_ONLY < WRITE_LIMITED < MODIFY < DELETE < PRIVILEGE.

    `<` and its kin follow that order, because the order of the letters would rank DELETE below READ_ONLY.
    """

    READ_ONLY = "READ_ONLY"
    WRITE_LIMITED = "WRITE_LIMITED"
    MODIFY = "MODIFY"
    DELETE = "DELETE"
    PRIVILEGE = "PRIVILEGE"

    @property
    def rank(self) -> int:
        return _RANK[self]

    def __lt__(self, other: str) -> bool:
        return self.rank < parse_risk_tier(other).rank

    def __le__(self, other: str) -> bool:
        return self.rank <= parse_risk_tier(other).rank

    def __gt__(self, other: str) -> bool:
        return self.rank > parse_risk_tier(other).rank

    def __ge__(self, other: str) -> bool:
        return self.rank >= parse_risk_tier(other).rank


_RANK = {tier: rank for rank, tier in enumerate(RiskTier)}


def is_within(tier: RiskTier, ceiling: RiskTier | None) -> bool:
    """Whether somebody with this ceiling may act at this tier; without a ceiling nobody may at any."""
    return ceiling is not None and tier.rank <= ceiling.rank


def parse_risk_tier(text: str) -> RiskTier:
    """An unknown tier is refused, never guessed; so is another spelling of a known one."""
    try:
        return RiskTier(text)
    except ValueError as error:
        raise IdentityError.risk_tier(f"expected one of {', '.join(RiskTier)}, got `{text[:80]}`") from error
