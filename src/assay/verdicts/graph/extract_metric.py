"""What a sentence is about: the name of the metric, made of its own words."""

import re

from assay.verdicts.graph.extract_compare import Comparison, comparisons_of, find_range
from assay.verdicts.graph.extract_terms import slug

# Who acts, as against what is measured.
ACTORS = frozenset(
    {
        *("operator", "operators", "master", "masters", "owner", "owners", "employer", "employers", "company"),
        *("companies", "institution", "institutions", "person", "persons", "manufacturer", "manufacturers"),
        *("undertaking", "undertakings", "ship", "ships", "vessel", "vessels", "plant", "plants", "staff", "employee"),
        *("employees", "worker", "workers", "user", "users", "licensee", "licensees", "holder", "holders", "permittee"),
        *("controller", "controllers", "processor", "processors", "provider", "providers", "supplier", "suppliers"),
        *("contractor", "contractors", "recyclers", "recycler", "importer", "importers", "facility", "facilities"),
        *("undertaker", "undertakers", "authority", "states", "state", "party", "parties", "everyone", "you", "we"),
        *("nurse", "nurses", "manager", "managers", "officer", "officers", "team", "agency", "laboratory", "member"),
        *("members", "producer", "producers", "carrier", "carriers", "driver", "drivers", "pilot", "pilots"),
    }
)
# `shall ensure that the dose does not exceed …`: the dose is measured.
_THAT = re.compile(
    r"\b(?:that|whether) (?P<thing>[^;]*?)(?:, [^;]*,)? (?:does|do|is|are|remains?|stays?|has|have|will|can|shall"
    r"|never)\b",
    re.IGNORECASE,
)
_THINGS = re.compile(r"\b(?:ships?|vessels?|plants?|facilit(?:y|ies))$")
_GENERIC = frozenset(
    {
        *("temperature", "pressure", "level", "flow", "rate", "height", "depth", "width", "length", "humidity", "time"),
        *("concentration", "weight", "volume", "power", "value", "noise", "emissions", "change", "dose", "exposure"),
    }
)
_NOBODY = re.compile(r"^(?:No|Nobody|None of|Neither|No one)\b ?", re.IGNORECASE)
_HOLD = re.compile(
    r"^(?:(?:keep|maintain|hold|ensure(?: that)?|limit|restrict|measure|record|report|submit|monitor|sample|notify"
    r"|calibrate|inspect|test|log|check|verify|review|examine|analyse|analyze|audit|complete|perform|carry out|conduct"
    r"|undertake|provide|send|update|clean|receive|achieve|undergo)s?) (?P<thing>\S.*)",
)
_CUT = re.compile(
    r",| (?:at|from|to the|into|in|on|by|per|for (?:a|an|the|each|every|any|all|at|use)|during|when|where|which"
    r"|as|with|under|who|that)\b"
    r"| (?:measured|released|emitted|discharged|used)\b"
    rf"| of (?:a|an|each|every|any|the (?:{'|'.join(sorted(ACTORS))}))\b"
)
_BOUND = re.compile(r"^(?:the |a |an )?(?:minimum|maximum) ", re.IGNORECASE)
_AMOUNT = re.compile(
    r"^(?:the |a |an |any |each )?(?:mass )?(?:concentration|level|content|value|amount|number)s? of ", re.IGNORECASE
)
# `contain fewer than 10 organisms`: what is counted stands behind the number.
_COUNTED = re.compile(
    r"\s*(?P<thing>[a-z][a-z-]*(?: [a-z][a-z-]*){0,3}?)(?= per | in | on | at | of | for | before | after | to "
    r"| between | within | during | from | by |,|;|$)"
)
_NOT_COUNTED = frozenset(
    {"and", "or", "for", "in", "at", "when", "if", "per", "of", "above", "below", "by", "as", "to"}
)
_BE = re.compile(r"^(?:be|have|not|never|at all times|at any time|in no case)\b ?")
_NO_PLACE = r"(?!(?:at|in|on|by|to|from|with|and|or)\b)"
_WITH = re.compile(
    r"\b(?:have|has|having|with|at|of|achieve|maintain|provide|reach|receive|keep|to|for|by|use|given?) (?:a|an"
    r"|the|its) "
    rf"(?P<thing>{_NO_PLACE}[a-z][a-z-]*(?: {_NO_PLACE}[a-z][a-z-]*){{0,4}}?)(?: (?:that|which) is)?(?: of)?\s*$",
    re.IGNORECASE,
)
_END = re.compile(
    r",|;| (?:when|whenever|if|where|before|until|unless|so that|in order to|in accordance|as (?:set|required"
    r"|laid|described"
    r"|specified|provided|soon|far)|which|who|pursuant|that (?:is|are|has|have|was|were)|immediately|without delay)\b"
)
_HEAD_END = re.compile(
    r",| (?:of|in|on|at|with|that|which|who|for|from|subject to|manufacturing|carrying|using|employing)\b ?"
)
_LONG_NAME = 5
_MOST_WORDS = 8


def measured_metric(before: str, after: str) -> tuple[str | None, tuple[str, ...]]:
    """What is measured: what the sentence is about, or what its actor is to keep."""
    found = comparisons_of(after)
    start = found[0].start if found else (between.start if (between := find_range(after)) else None)
    told = None if start is None else _THAT.search(after[:start])
    if told is not None and is_actor(before):
        return named_metric(told["thing"], is_state=True)
    inner = None if start is None else _WITH.search(after[:start].rstrip())
    if inner is not None and not re.search(r"\bto one\b", after[:start]):
        return _joined(before, inner["thing"])
    held = _HOLD.match(after)
    if held is not None and is_actor(before):
        return named_metric(held["thing"])
    named = named_metric(_NOBODY.sub("", before))
    if found and is_actor(before):
        # `a ship shall not discharge more than 5 tonnes`: what is limited is what it does.
        done = slug(_BE.sub("", after[: found[0].start]))
        return (done, ("the metric is named after what is done",)) if done else named
    return named


def _joined(before: str, thing: str) -> tuple[str | None, tuple[str, ...]]:
    """`mooring lines` and `breaking load`; an actor is no part of the name."""
    subject = None if is_actor(before) and not _THINGS.search(_head(before)) else named_metric(before)[0]
    subject = None if subject is None else subject.removeprefix("no_")
    name = slug(thing)
    if subject is None or subject.count("_") >= _LONG_NAME:
        return name or None, ()
    return f"{subject}_{name}", ("the metric is named after the thing and what is measured of it",)


def is_actor(before: str) -> bool:
    """Whether the subject of a sentence is one who acts."""
    head = _head(before).split()
    return not head or head[-1] in ACTORS


def _head(before: str) -> str:
    return _HEAD_END.split(before.lower(), maxsplit=1)[0]


def counted_metric(text: str, end: int) -> str | None:
    """What a number counts: the words behind it."""
    counted = _COUNTED.match(text, end)
    if counted is None or counted["thing"].split()[0] in _NOT_COUNTED:
        return None
    return slug(counted["thing"]) or None


def timed_metric(before: str, act: str) -> tuple[str | None, tuple[str, ...]]:
    """What is to be recorded: the object of the verb, or the subject of a passive."""
    held = _HOLD.match(act)
    if held is not None:
        return named_metric(held["thing"])
    if act.startswith("be ") and not is_actor(before):
        return named_metric(before)
    return acted_metric(before, act)


def acted_metric(before: str, act: str) -> tuple[str | None, tuple[str, ...]]:
    """What is to be done: the thing and its state, or the verb and its object."""
    ended = _END.search(act)
    done = (act if ended is None else act[: ended.start()]).strip()
    done = re.sub(r"^(?:ensure|make sure|see to it|take care)(?: that)? ", "", done)
    words = slug(re.sub(r"^be ", "", done), most=_MOST_WORDS)
    subject = named_metric(_NOBODY.sub("", before), is_state=True)[0]
    if re.match(r"(?:the |any |each |every |an? |no )?owners? (?:or|and) operators?\b", before, re.IGNORECASE):
        subject = None
    if subject is not None and subject.count("_") >= _LONG_NAME - 1:
        subject = slug(_head(_NOBODY.sub("", before)))
    if not subject or subject in ACTORS or _is_nobody_special(subject):
        subject = None
    name = "_".join(filter(None, (subject, words))).split("_")[:_MOST_WORDS]
    return "_".join(name) or None, ("the metric is named after the words of the sentence",)


def _is_nobody_special(name: str) -> bool:
    """`owner_or_operator` names nobody in particular."""
    return all(word in ACTORS or word in {"or", "and"} for word in name.split("_"))


def strip_amount(phrase: str) -> str:
    """`the concentration of dust` is about dust."""
    return _AMOUNT.sub("", _BOUND.sub("", phrase.strip()))


def named_metric(phrase: str, *, is_state: bool = False) -> tuple[str | None, tuple[str, ...]]:
    """The words that carry meaning, up to where the sentence goes on about place, time or owner."""
    text = strip_amount(phrase)
    is_amount = text != phrase.strip()
    found: tuple[Comparison, ...] = comparisons_of(text)
    if found:
        text = text[: found[0].start] or text[found[0].end :]
    if (between := find_range(text)) is not None:
        text = text[: between.start]
    name = slug(_cut(text, is_state=is_state, is_amount=is_amount))
    if not name:
        return None, ("no words that could name the metric",)
    is_long = name.count("_") >= _LONG_NAME
    return name, ("the name of the metric is long: check what is measured",) if is_long else ()


def _cut(text: str, *, is_state: bool, is_amount: bool) -> str:
    """Up to the first words about place, time or owner; up to the second where a single word would be left."""
    cuts = [cut for cut in _CUT.finditer(text) if slug(text[: cut.start()])]
    if not cuts:
        return text
    first = text[: cuts[0].start()]
    word = slug(first)
    is_bare = "_" not in word and (is_state or word in _GENERIC)
    if is_amount or not is_bare or cuts[0].group().startswith((" of", ",")):
        return first
    return text[: cuts[1].start()] if len(cuts) > 1 else text
