"""Words around a demand: definitions, dates, places, conditions and exceptions of one sentence."""

import re

from msgspec import Struct
from msgspec.structs import replace

from assay.verdicts.graph.extract_compare import comparisons_of
from assay.verdicts.graph.extract_terms import DATE, last_moment, parse_date

_QUOTED = r"[“\"‘'«](?P<quoted>[^”\"’'»]{1,80})[”\"’'»]"
_OPENING = (
    r"(?:(?:For the purposes? of [^,]+|In (?:this|these|the present) [\w ]+?|As used in [^,]+|Herein),? "
    r"(?:the (?:term|expression) )?)?"
)
_DEFINITION = re.compile(
    rf"{_OPENING}(?:[Tt]he (?:term|expression) )?(?:{_QUOTED}|(?P<term>[A-Za-z][\w /()-]{{1,60}}?))"
    r"(?:,? or [“\"‘'][^”\"’']{1,60}[”\"’'])?,? (?:means|shall mean|is defined as|refers to|has the meaning"
    r"|have the meaning) (?P<text>\S.*)"
)
_GLOSSARY = re.compile(r"[“\"‘']?(?P<term>[A-Za-z][\w /()-]{0,60}?)[”\"’']?\s*(?:[:–—=]|\s-\s)\s*(?P<text>\S.*)")
_FROM = re.compile(
    rf"(?:[Ww]ith effect )?\b(?:[Ff]rom(?: and including)?|[Aa]s of|[Oo]n and after|starting (?:on|from)"
    rf"|beginning on) (?P<date>{DATE}),? ?"
)
_UNTIL = re.compile(rf"\b(?:[Uu]ntil|[Uu]p to and including|[Bb]efore the end of|ending on) (?P<date>{DATE}),? ?")
_WHERE = re.compile(r"^(?:In|Within) (?:the )?(?P<place>[A-Z][\w-]*(?: (?:of |and )?[A-Z][\w-]*)*(?: area)?), ")
_EXCEPT = re.compile(
    r",? \b(?:except (?:where|when|during|for|if|in|as|that|to)|unless|other than|with the exception of"
    r"|save (?:where|for|that))\b "
    r"(?P<rest>\S.*)",
)
_EXCEPT_AS = re.compile(r",? \bexcept (?P<rest>as (?:provided|set out|specified|permitted|allowed) .*)")
_FIRST = re.compile(r"^(?:Unless|Except (?:where|when|during|for|if|in|that|to|as(?= )))\s*(?P<rest>\S.*)$")
_ASIDE = re.compile(r", (?:as (?:laid down|set out|provided|required|defined|referred)|in accordance|pursuant)\b")
_WHEN = re.compile(
    r"^(?:If|Where|When|Whenever|Before|After|While|During|Once|Until|As soon as|In (?:the event|the case|case|a"
    r"|an|any|each|all"
    r"|such)|Within (?:each|any|the)|At the end|At|On|Upon|For)\b"
)
_ASIDE_FIRST = re.compile(
    r"^(?:By way of derogation from|Subject to|Without prejudice to|Notwithstanding|In accordance with"
    r"|Pursuant to|Under"
    r"|For the purposes? of|In addition to|In order to|With regard to|To ensure|Each (?:day|week|month|year)|However"
    r"|Therefore|Furthermore|In particular|Where appropriate|As a minimum)\b"
)
# A time in front of the sentence belongs behind it.
_TIME_FIRST = re.compile(
    r"^(?:Within (?!each|any|the )|(?:No|Not) later than|At least (?:once|annually|monthly|weekly|daily|quarterly|every"
    r"|[0-9a-z]+ (?:minutes|hours|days|weeks|months|years) (?:before|prior))|Every|Annually|Monthly|Weekly|Daily"
    r"|Quarterly"
    r"|Once (?:a|every|per))\b",
    re.IGNORECASE,
)
_NO_COMMA = re.compile(
    r"^(?P<front>(?:After|Before|During|Within|Following|Upon) [^,]*?) (?P<core>(?:a|an|the|each"
    r"|every) [a-z]+ (?:shall|must)\b.*)"
)
_INSERTED = re.compile(
    r"^(?P<before>[^,]*\b(?:shall|must|should)), (?P<inserted>[^,]+(?:, [^,]+)?), (?P<after>(?:not )?[a-z]+\b.*)$"
)
_TOPIC = re.compile(r"^(?P<topic>[A-Z][\w -]{2,40}): (?P<rest>[a-z].*)$")
_VERB = re.compile(r"\b(?:must|shall|should|may|(?:is|are) (?:required|prohibited|entitled|not))\b")
_GOES_ON = re.compile(r", (?=(?:to|at|by|from|in|within|into|shall|must|should|be|is|are|not)\b)")


class Frame(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Start, end, place, condition and exceptions of a demand; `core` is the rest of the sentence."""

    core: str
    start: str | None = None
    end: str | None = None
    place: str | None = None
    condition: str | None = None
    aside: str | None = None
    exceptions: tuple[str, ...] = ()


def read_definition(text: str) -> tuple[str, str] | None:
    """The term and its meaning."""
    found = _DEFINITION.fullmatch(text)
    if found is None:
        return None
    return (found["quoted"] or found["term"]).strip(" ,"), found["text"].strip()


def read_glossary(text: str) -> tuple[str, str] | None:
    """`Term: meaning`, as it stands under a heading such as “Definitions”."""
    found = _GLOSSARY.fullmatch(text)
    return None if found is None else (found["term"].strip(), found["text"].strip())


def read_frame(text: str) -> Frame:
    """Dates, place, condition and exceptions of a sentence; what is left is its core."""
    frame = _excepted(Frame(core=_with_topic(text)))
    frame = _dated(frame)
    where = _WHERE.match(frame.core)
    if where is not None:
        frame = replace(frame, core=_capital(frame.core[where.end() :]), place=where["place"])
    return _fronted(frame)


def _with_topic(text: str) -> str:
    """`Flammable liquids: no more than 5 litres may be stored` is about litres of flammable liquids."""
    topic = _TOPIC.match(text)
    limits = () if topic is None else comparisons_of(topic["rest"])
    if topic is None or not limits or limits[0].start:
        return text
    rest, end = topic["rest"], limits[0].end
    return _capital(f"{rest[:end]} of {topic['topic'].lower()}{rest[end:]}")


def _fronted(frame: Frame) -> Frame:
    """Take what stands in front of the sentence away: asides, times, conditions."""
    inserted = _INSERTED.match(frame.core)
    if inserted is not None:
        frame = replace(frame, core=f"{inserted['before']} {inserted['after']} {inserted['inserted']}")
    for _ in range(3):
        front, core = _front(frame.core)
        if not core:
            break
        if _TIME_FIRST.match(front):
            frame = replace(frame, core=_capital(f"{core} {front[:1].lower()}{front[1:]}"))
        elif _ASIDE_FIRST.match(front):
            frame = replace(frame, core=_capital(core), aside=front)
        elif _WHEN.match(front) and "no time" not in front and "no case" not in front:
            frame = replace(frame, core=_capital(core), condition=front)
        else:
            break
    return frame


def _front(text: str) -> tuple[str, str]:
    """The words up to the last comma in front of the verb, and the rest; nothing where no comma parts them."""
    bare = _NO_COMMA.match(text)
    if bare is not None:
        return bare["front"], bare["core"]
    verb = _VERB.search(text)
    end = len(text) if verb is None else verb.start()
    commas = [found.start() for found in re.finditer(r", (?!and\b|or\b|which\b|who\b)", text[:end])]
    is_fronted = any(pattern.match(text) for pattern in (_TIME_FIRST, _ASIDE_FIRST, _WHEN))
    if not commas or not is_fronted:
        return "", ""
    return text[: commas[-1]], text[commas[-1] + 2 :]


def _excepted(frame: Frame) -> Frame:
    first = _FIRST.match(frame.core)
    if first is not None:
        verb = _VERB.search(first["rest"])
        commas = [
            found.start() for found in re.finditer(r", (?!and\b|or\b)", first["rest"][: verb.start() if verb else None])
        ]
        if commas:
            said, core = first["rest"][: commas[-1]], first["rest"][commas[-1] + 2 :]
            return replace(frame, core=_capital(core), exceptions=(said,))
    exception = _EXCEPT_AS.search(frame.core) or _EXCEPT.search(frame.core)
    if exception is None or not exception.start():
        return frame
    before, said = frame.core[: exception.start()], _ASIDE.split(exception["rest"], maxsplit=1)[0].rstrip(" ,.;")
    goes_on = _GOES_ON.search(said) if exception.group().startswith(",") else None
    if goes_on is not None:
        # `, except for planned exposures, to 5 mSv`: the sentence goes on behind the exception.
        before, said = f"{before} {said[goes_on.end() :]}", said[: goes_on.start()]
    return replace(frame, core=before, exceptions=(said,)) if said else frame


def _dated(frame: Frame) -> Frame:
    for pattern, name in ((_FROM, "start"), (_UNTIL, "end")):
        found = pattern.search(frame.core)
        date = None if found is None else parse_date(found["date"])
        if found is not None and date is not None:
            core = f"{frame.core[: found.start()]}{frame.core[found.end() :]}".strip()
            frame = replace(frame, core=_capital(core))
            frame = replace(frame, start=date) if name == "start" else replace(frame, end=last_moment(date))
    return frame


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
