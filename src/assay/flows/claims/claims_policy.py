"""A released policy of the gates, read once: the same text gives the same policy."""

from functools import lru_cache

from assay.claims.parse_policy import parse_policy
from assay.claims.policy import ClaimsPolicy


@lru_cache(maxsize=16)
def read_claims_policy(document: str) -> ClaimsPolicy:
    return parse_policy(document)
