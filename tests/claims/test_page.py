"""The page about claims says what the code does."""

import re
from pathlib import Path

from assay.claims.parse_policy import parse_policy
from assay.claims.policy import DEFAULT_POLICY

_PAGE = (Path(__file__).parents[2] / "docs" / "claims.md").read_text()


def test_the_policy_on_the_page_is_the_default_one() -> None:
    """Whoever copies it changes nothing."""
    [text] = re.findall(r"```yaml\n(.*?)```", _PAGE, re.DOTALL)
    assert parse_policy(text) == DEFAULT_POLICY
