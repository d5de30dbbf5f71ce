"""Sentences about the text itself: commencement, expiry, extent, repeal."""

import re

from msgspec import Struct

from assay.verdicts.graph.extract_terms import DATE, last_moment, parse_date
from assay.verdicts.graph.node import PrecedentRelation

_KIND = (
    r"(?:Regulations?|Directive|Decision|Act|Rules?|Order|Standard|Code|Policy|Permit|Permission|Consent|Certificate|Authori[sz]ation|Approval|Contract|Licence|License|Instruction"
    r"|Plan|Procedure"
    r"|Guideline|Ordinance|Law|Statute|Bylaws?|Subpart|Part|Chapter|text|document|Notice|Circular|Schedule"
    r"|Agreement|Scheme|Conditions?)"
)
_TEXT = rf"(?:(?:This|These|The present) (?:\w+ )?(?i:{_KIND})|It|They)"
_START = re.compile(
    r"\b(?:comes? into (?:force|effect|operation)|c[ao]me into (?:force|effect)|enters? into force"
    r"|take[s]? effect|commences?"
    r"|(?:shall )?appl(?:y|ies)|(?:is|are) (?:effective|valid|in force)|effective(?: date)?|in (?:force|effect)"
    r"|valid|comply with this"
    rf" \w+)\b[^.;]*?\b(?:from|on|as of|since|on and after|with effect from|:)?\s*:?\s*(?P<date>{DATE})",
    re.IGNORECASE,
)
_LABEL_START = re.compile(
    rf"^(?:Effective(?: date| from)?|Date of effect|In force(?: from| since)?|Valid from|Commencement(?: date)?"
    rf"|Date of entry into force"
    rf"|Start date)\s*[:|]?\s*(?P<date>{DATE})$",
    re.IGNORECASE,
)
_LABEL_END = re.compile(
    rf"^(?:Expiry(?: date)?|Expires(?: on)?|Valid until|End date|Date of expiry)\s*[:|]?\s*(?P<date>{DATE})$",
    re.IGNORECASE,
)
_END = re.compile(
    r"\b(?:expires?|ceases? to (?:have effect|apply|be in force)|(?:is|are|shall be)? ?(?:valid|in force"
    r"|effective) (?:until|up to)|until|lapses?"
    rf"|remains? in force until)\b(?: on| after| from| at the end of)?\s*(?P<date>{DATE})",
    re.IGNORECASE,
)
_IS_ABOUT = re.compile(
    rf"{_TEXT}\b|\b(?:[Ii]n force|[Vv]alid|[Ee]ffective) (?:from|since|on|until)\b|\b[Pp]lan no\.", re.IGNORECASE
)
_REPEALED = re.compile(
    r"^(?P<what>\S.*?) (?:is|are|shall be|has been|have been) (?:hereby )?(?:repealed|revoked|withdrawn|rescinded"
    r"|superseded|replaced|annulled)\b"
)
_REPLACES = re.compile(
    rf"(?:^|\b){_TEXT} (?P<also>[^.;]*? and )?(?:hereby )?"
    r"(?P<verb>repeals?|replaces?|supersedes?|amends?|revokes?|cancels?|obsoletes?) (?P<what>\S.*?)"
    r"(?: with effect from .*)?$"
)
_AMENDED = re.compile(r"^(?P<what>\S.*?) (?:is|are) (?:hereby )?amended\b")
_PLACE = (
    r"(?:the )?(?:(?:State|Canton|Province|County|City|Republic|Kingdom|Territory|Commonwealth|Municipality|Port|Region"
    r"|Duchy|Borough|Town|District|Parish) of )?[A-Z][\w’'-]*(?: [A-Z][\w’'-]*)*"
)
_PLACES = rf"(?P<places>{_PLACE}(?:(?:, | and | or |, and |, or ){_PLACE})*)"
_EXTENDS = re.compile(
    rf"{_TEXT} (?:extends?|shall extend|appl(?:y|ies)|shall apply) (?:only )?(?:to|in|within"
    rf"|throughout) {_PLACES}(?: only)?(?=$|,| from| and to|\s+with)"
)
_LOCATED = re.compile(
    rf"{_TEXT} (?:appl(?:y|ies)|shall apply) (?:only )?to [^.;]*?\b(?:in|within|throughout|on"
    rf"|at) {_PLACES}(?P<site> (?:campus|site|plant|area|works))?(?=$|,| that| which| from)"
)
_LABEL_PLACE = re.compile(
    rf"^(?:Applies (?:to|in)|Jurisdictions?|Territory|Geographic(?:al)? scope|Region|Country"
    rf"|Countries)\s*[:|]?\s*{_PLACES}$"
)
_MADE_BY = re.compile(
    r"^(?:Made|Issued|Adopted|Enacted) by (?P<places>(?:the )?(?:State|Canton|Province|County|City|Borough|Town"
    r"|District|Parish|Municipality|Republic) of [A-Z][\w’'-]*(?: [A-Z][\w’'-]*)*)"
)
_ALSO_IN = re.compile(rf"^[A-Z][^.;]*, (?:applies|valid|applicable) in {_PLACES}$")
_VALID_IN = re.compile(rf"^(?:Valid|Applicable|In force|Effective)\b[^.;]*?\b(?:for|to) [^.;]*?\bin {_PLACES}$")
_REPLACES_BARE = re.compile(r"^(?:Replaces|Supersedes|Repeals|Obsoletes) (?P<what>\S.*)$")
_APPLIES_IN = re.compile(
    rf"{_TEXT} (?:appl(?:y|ies)|shall apply|takes effect|enters into force)\b.*?\b(?:in|within|throughout) {_PLACES}"
)
_NO_PLACES = frozenset(
    {
        "Table",
        "Annex",
        "Schedule",
        "Article",
        "Section",
        "Member States",
        "Part",
        "Paragraph",
        "January",
        "Official Journal",
    }
)


class AboutText(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a sentence says of the whole text."""

    start: str | None = None
    end: str | None = None
    places: tuple[str, ...] = ()
    precedent: str | None = None
    relation: PrecedentRelation | None = None

    @property
    def is_empty(self) -> bool:
        return self == AboutText()

    @property
    def words(self) -> str:
        said = {"holds from": self.start, "holds until": self.end, "holds in": ", ".join(self.places) or None}
        said |= {"supersedes or amends": self.precedent}
        return "; ".join(f"{name} {value}" for name, value in said.items() if value is not None)


def read_about(text: str) -> AboutText:
    """Dates, places and earlier texts; empty where the sentence is about something else."""
    precedent, relation = _precedent(text)
    both = _REPLACES.search(text)
    # `This order takes effect on 1 March and replaces …` says both.
    dated = text[: both.end("also")] if both is not None and both["also"] else text
    start, end = _dates(dated, is_repeal=precedent is not None and dated == text)
    return AboutText(start=start, end=end, places=_places(text), precedent=precedent, relation=relation)


def _precedent(text: str) -> tuple[str | None, PrecedentRelation | None]:
    replaces = _REPLACES.search(text)
    if replaces is not None:
        is_amending = replaces["verb"].startswith("amend")
        return replaces["what"].rstrip("."), PrecedentRelation.AMENDS if is_amending else PrecedentRelation.SUPERSEDES
    bare = _REPLACES_BARE.match(text)
    if bare is not None:
        return bare["what"], PrecedentRelation.SUPERSEDES
    repealed = _REPEALED.match(text)
    if repealed is not None and re.search(r"[0-9]", repealed["what"]):
        return repealed["what"], PrecedentRelation.SUPERSEDES
    amended = _AMENDED.match(text)
    if amended is not None and re.search(r"[0-9]", amended["what"]):
        return amended["what"], PrecedentRelation.AMENDS
    return None, None


def _dates(text: str, *, is_repeal: bool) -> tuple[str | None, str | None]:
    labelled, ending = _LABEL_START.match(text), _LABEL_END.match(text)
    if labelled is not None:
        return parse_date(labelled["date"]), None
    if ending is not None:
        return None, _last_day(ending["date"])
    if is_repeal or (_IS_ABOUT.search(text) is None and not re.search(r"\bcomply with this\b", text)):
        return None, None
    ends = _END.search(text)
    rest = text if ends is None else text[: ends.start()] + text[ends.end() :]
    starts = _START.search(rest)
    start = None if starts is None else parse_date(starts["date"])
    return start, None if ends is None else _last_day(ends["date"])


def _places(text: str) -> tuple[str, ...]:
    for pattern in (_LABEL_PLACE, _EXTENDS, _LOCATED, _APPLIES_IN, _VALID_IN, _ALSO_IN, _MADE_BY):
        found = pattern.search(text)
        if found is not None:
            site = found.groupdict().get("site") or ""
            parts = re.split(r", (?:and |or )?| and | or ", found["places"] + site)
            places = tuple(part.removeprefix("the ").strip() for part in parts)
            return tuple(place for place in places if not any(place.startswith(no) for no in _NO_PLACES))
    return ()


def _last_day(text: str) -> str | None:
    date = parse_date(text)
    return None if date is None else last_moment(date)
