"""Forms: how much of a case the judge reads, and how it reads it; one for each template of prompts.

prompt -> form_of -> Form; its limits are the ones that the card, the documentation and `assay model eval --sweep` state
An entry is replayed with the form of its own template, so that an old answer comes out as it was written.
"""

from typing import Final

from msgspec import Struct


class Limits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The largest case that the judge reads; a larger one is refused with `judge.case_size`, and never cut."""

    obligations: int
    comparisons: int
    symbols: int
    members: int
    mixed_members: int
    exempting_members: int
    exempting_mixed_members: int
    exempting_sets: int


class Form(Struct, frozen=True, kw_only=True):
    """`is_cyclic`: members of a set have places and names in turns, of those that training saw most often.

    `is_readable`: the reasoning is written in sentences; before, in the symbols of the tokens themselves.
    """

    template_id: str
    limits: Limits
    is_cyclic: bool
    is_readable: bool


_ANY: Final = 360
FIRST: Final = Form(
    template_id="ski.v3.evaluate.1",
    limits=Limits(
        obligations=64,
        comparisons=16,
        symbols=_ANY,
        members=_ANY,
        mixed_members=_ANY,
        exempting_members=_ANY,
        exempting_mixed_members=_ANY,
        exempting_sets=16,
    ),
    is_cyclic=False,
    is_readable=False,
)
# Set by `assay model eval --sweep`: within them no case of a sweep is called CLEAR that is not.
SECOND: Final = Form(
    template_id="ski.v3.evaluate.2",
    limits=Limits(
        obligations=64,
        comparisons=7,
        symbols=_ANY,
        members=64,
        mixed_members=6,
        exempting_members=8,
        exempting_mixed_members=1,
        exempting_sets=2,
    ),
    is_cyclic=True,
    is_readable=True,
)


def form_of(prompt: str) -> Form:
    """Return the form of the template that the prompt names in its first line; without one, the latest."""
    return FIRST if prompt.startswith(f"{FIRST.template_id}\n") else SECOND


def limit_rows(limits: Limits) -> tuple[tuple[str, int], ...]:
    """Say each limit in words, in the order of the fields; that of symbols follows from the others."""
    return (
        ("obligations of a rule", limits.obligations),
        ("comparisons of an obligation, conditions of its exemptions included (a range is two)", limits.comparisons),
        ("members of a set", limits.members),
        ("members of a set of several kinds (texts, numbers, switches)", limits.mixed_members),
        ("members of a set in an exemption", limits.exempting_members),
        ("members of a set of several kinds in an exemption", limits.exempting_mixed_members),
        ("last condition of an obligation's exemptions that may name a set", limits.exempting_sets),
    )
