"""What stands around a demand: definitions, dates, places and exceptions of one sentence."""

import re

from msgspec import Struct
from msgspec.structs import replace

from assay.verdicts.graph.extract_terms import DATE, last_moment, parse_date

__all__ = ["Frame", "read_definition", "read_frame"]

_DEFINITION = re.compile(
    r"(?:For the purposes? of [^,]+, |In this [A-Z]?\w+, )?(?:[Tt]he term )?"
    r"[“\"‘']?(?P<term>[A-Za-z][\w -]{1,60}?)[”\"’']?,? (?:means|is defined as) (?P<text>\S.*)"
)
_FROM = re.compile(rf"(?:[Ww]ith effect )?\b(?:[Ff]rom|[Aa]s of|[Oo]n and after|starting on) (?P<date>{DATE}),? ?")
_UNTIL = re.compile(rf"\b(?:[Uu]ntil|[Uu]p to and including|[Bb]efore the end of) (?P<date>{DATE}),? ?")
_WHERE = re.compile(r"^(?:In|Within) (?:the )?(?P<place>[A-Z][\w-]*(?: (?:of |and )?[A-Z][\w-]*)*(?: area)?), ")
_EXCEPT = re.compile(
    r",? \b(?:except (?:where|when|during|for|if|in)|unless|other than|with the exception of)\b (?P<rest>\S.*)",
)
_ASIDE = re.compile(r", (?:as (?:laid down|set out|provided|required|defined|referred)|in accordance|pursuant)\b")


class Frame(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What stands around a demand: since when, until when, where, except when; `core` is the rest of the sentence."""

    core: str
    start: str | None = None
    end: str | None = None
    place: str | None = None
    exceptions: tuple[str, ...] = ()


def read_definition(text: str) -> tuple[str, str] | None:
    """The term and its meaning."""
    found = _DEFINITION.fullmatch(text)
    return None if found is None else (found["term"].strip(), found["text"].strip())


def read_frame(text: str) -> Frame:
    """Dates, place and exceptions of a sentence; what is left is its core."""
    frame = Frame(core=text)
    if exception := _EXCEPT.search(frame.core):
        said = _ASIDE.split(exception["rest"], maxsplit=1)[0].rstrip(" ,.;")
        frame = replace(frame, core=frame.core[: exception.start()], exceptions=(said,))
    for pattern, name in ((_FROM, "start"), (_UNTIL, "end")):
        found = pattern.search(frame.core)
        date = None if found is None else parse_date(found["date"])
        if found is not None and date is not None:
            core = f"{frame.core[: found.start()]}{frame.core[found.end() :]}".strip()
            frame = replace(frame, core=core[:1].upper() + core[1:])
            frame = replace(frame, start=date) if name == "start" else replace(frame, end=last_moment(date))
    where = _WHERE.match(frame.core)
    if where is not None:
        core = frame.core[where.end() :]
        frame = replace(frame, core=core[:1].upper() + core[1:], place=where["place"])
    return frame
