"""Numbers in addresses."""

import re

from assay.flows.errors import NotFoundError
from assay.kernel.merkle import MAX_SIZE


def parse_number(text: str) -> int:
    """The number of an entry; whatever else is asked for is not there."""
    if re.fullmatch(r"[1-9][0-9]{0,18}", text, re.ASCII) is None or int(text) > MAX_SIZE:
        raise NotFoundError(f"expected a sequence number from 1 on, got `{text[:80]}`")
    return int(text)
