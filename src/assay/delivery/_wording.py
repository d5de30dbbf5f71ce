"""The disclosures of PRAMANA 8 in plain words: which strand is there, which is not, and what that means."""

from collections.abc import Sequence
from functools import lru_cache

from assay.delivery.level import Level, LevelCap
from assay.delivery.strand import StrandId, StrandRegistry, StrandType

_UNVERIFIED = (
    "This output has not been validated through any independent verification process. "
    "Do not act on this output without independent expert review."
)
_WHY_ANSWERED = (
    "It was answered all the same, because absent strands are disclosed and never refuse an answer. "
    "Use it for reference only."
)


# A system has few combinations of strands, and each answer shows one of them.
@lru_cache(maxsize=4096)
def disclose(
    registry: StrandRegistry,
    level: Level,
    present: tuple[StrandId, ...],
    cap: LevelCap | None,
    lacking: tuple[StrandId, ...],
    plugin: str | None,
    plugin_rules: tuple[str, ...],
) -> str:
    """What a level means, in plain words; `lacking` are the strands that the component which lowered it lacks."""
    parts = [*_strands(registry, level, present), *_cap(registry, cap, lacking), *_plugin(plugin, plugin_rules)]
    return " ".join(parts)


def withheld_text(computed: Level, floor: int) -> str:
    return (
        f"The output is withheld: it was computed at {computed}, and this user receives nothing below PRAMANA-{floor}. "
        "Independent expert review is required."
    )


def once_withheld_text() -> str:
    return "The output was withheld when it was asked for, and is given out to nobody since. Ask again to be answered."


def held_text(decision: str, reason: str) -> str:
    return (
        f"The output is withheld: the gates did not publish it ({decision}: {reason}). "
        "Do not act before people have looked at it."
    )


def lowered_text(source: str, claimed: Level, level: Level, reason: str) -> str:
    return f"The output of {source} claims {claimed} and counts as {level} here: {reason}."


def _strands(registry: StrandRegistry, level: Level, present: tuple[StrandId, ...]) -> list[str]:
    there = [one for one in registry.types if one.strand_type_id in present]
    gone = [one for one in registry.types if one.strand_type_id not in present]
    if level is Level.UNVERIFIED:
        return [_UNVERIFIED, *map(_implication, gone)]
    if level in (Level.AUTHENTIC, Level.INFERRED):
        return [f"All strands are present: {_names(there)}."]
    found = f"{_names(there)} {'is' if len(there) == 1 else 'are'} present."
    if not gone:
        found = f"All strands of this system are present: {_names(there)}."
    if level is Level.SINGLE_SOURCE:
        return [found, *map(_implication, gone), _WHY_ANSWERED]
    closing = f"Suitable for professional use with awareness of {'these gaps' if len(gone) > 1 else 'this gap'}."
    return [found, *map(_implication, gone), closing]


def _cap(registry: StrandRegistry, cap: LevelCap | None, lacking: tuple[StrandId, ...]) -> list[str]:
    if cap is None:
        return []
    names = {one.strand_type_id: one.name for one in registry.types}
    cause = names.get(StrandId(cap.cause))
    if cause is not None:
        return [f"Without {cause} no answer is marked above {cap.level}, however many other strands are present."]
    without = f", for which {', '.join(names.get(one, one) for one in lacking)} is absent" if lacking else ""
    return [f"It contains an output marked {cap.level} ({cap.cause}){without}, and is marked no higher than that."]


def _plugin(plugin: str | None, rules: tuple[str, ...]) -> list[str]:
    if plugin is None:
        return []
    told = f"The language model plugin {plugin} applied inference for {', '.join(rules)}"
    return [f"{told}: this adds the uncertainty of that model, and does not claim to improve accuracy."]


def _implication(strand: StrandType) -> str:
    return f"{strand.name} is absent, which means that {strand.absence_implication}."


def _names(strands: Sequence[StrandType]) -> str:
    names = [one.name for one in strands]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
