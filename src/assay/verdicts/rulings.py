"""Which set of rulings a verdict was reached by: where the specification is silent, we decided, and once otherwise.

An entry names its rulings, and one that names none is of the first; a replay reads graph, slice, grammar and verifier
as they were then. A ruling that changes what any of them computes is a new member here, never an edit of an old one.

    FIRST    0.1.0
    SECOND   a status follows from what is determined; a jurisdiction in doubt is at best DISCRETIONARY and its name is
             compared without case; flat graphs as their users write them; declared units are converted
"""

from enum import IntEnum


class Rulings(IntEnum):
    """Closed and growing; a number never changes its meaning."""

    FIRST = 1
    SECOND = 2


CURRENT = Rulings.SECOND
