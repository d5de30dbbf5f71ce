"""Sentences into nodes, one after the other: each node keeps its clause and its sentence.

sentence -> about the text itself | definition | exemption of another clause | demands
"""

import re
from collections import Counter, defaultdict

from msgspec import Struct

from assay.kernel.instant import parse_instant
from assay.verdicts.graph.edge import EdgeType
from assay.verdicts.graph.extract_drafting import Drafting
from assay.verdicts.graph.extract_frame import Frame, read_definition, read_frame
from assay.verdicts.graph.extract_statement import LONGEST, Demand, read_demands
from assay.verdicts.graph.extract_terms import DATE, Reference, find_references, last_moment, parse_date, slug
from assay.verdicts.graph.extract_text import Sentence
from assay.verdicts.graph.node import Definition, Exemption, NodeId, Precedent, PrecedentRelation
from assay.verdicts.graph.obligation import Obligation

__all__ = ["Doubt", "Origin", "PassedOver", "SentenceReader"]

_TEXT = r"(?:This|The present) (?:Regulation|Directive|Act|Rule|Rules|Order|Standard|Code|Policy|text|document)"
_APPLIES = re.compile(
    rf"{_TEXT} (?:applies|apply|shall apply|enters into force|shall enter into force|takes effect)"
    rf"(?P<where> (?:in|within|throughout) (?:the )?[A-Z].*?)??(?: (?:from|on|as of) (?P<start>{DATE}))?"
    rf"(?:,? (?:until|to) (?P<end>{DATE}))?"
)
_ENDS = re.compile(rf"{_TEXT} (?:ceases|shall cease) to apply (?:on|from|after) (?P<end>{DATE})")
_WHERE = re.compile(r"(?:in|within|throughout) (?:the )?(?P<places>[A-Z].*)")
_REPLACES = re.compile(rf"{_TEXT} (?P<verb>repeals|replaces|supersedes|amends) (?P<what>\S.*)")
_EXEMPTS = re.compile(
    r"(?P<ref>(?:Article|Section|Rule|Regulation|Paragraph|paragraph|§) ?\S+|This (?:Article|Section|paragraph))"
    r"(?: and \S+)? (?:does|do|shall) not apply (?P<condition>(?:to|where|when|during|if|in|for)\b.*)"
)
_ABOUT = re.compile(
    r"\b(?:of|from|in|on|at|aboard|by) (?P<article>a|an|each|every|any|the) "
    r"(?=(?P<thing>[a-z][a-z-]*(?: [a-z][a-z-]*){0,2}))"
)
_ACTOR = re.compile(
    r"^(?:A|An|The|Each|Every|Any) (?P<thing>(?:[a-z-]+ )?(?:ship|vessel|plant|installation|vehicle))\b"
)
_STOPS = re.compile(r"\b(?:must|shall|should|is|are|of|in|on|at|by|for|with|which|that|and|or|to|into|from)\b.*")
_MODAL = re.compile(r"\b(?:must|shall|should|is prohibited|are prohibited|is required|are required)\b")
_RELATIONS = {
    "amends": PrecedentRelation.AMENDS,
    "repeals": PrecedentRelation.SUPERSEDES,
    "replaces": PrecedentRelation.SUPERSEDES,
    "supersedes": PrecedentRelation.SUPERSEDES,
}
_DEFAULT_SUBJECT = "subject"


class Origin(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a node comes from; `line` is counted from 1."""

    node: str
    clause: str
    line: int
    sentence: str


class Doubt(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person should look at first."""

    node: str
    about: str


class PassedOver(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A sentence that became no node: it permits, or tells of something else."""

    clause: str
    line: int
    sentence: str


class SentenceReader:
    """Reads in the order of the text; `finish` adds what only the end of the text tells."""

    def __init__(self, drafting: Drafting) -> None:
        self.origins: dict[Origin, None] = {}  # each once, in the order of the text
        self.doubts: list[Doubt] = []
        self.passed_over: list[PassedOver] = []
        self._drafting = drafting
        self._demanded: list[tuple[NodeId, Demand, Frame, str]] = []
        self._about: list[tuple[NodeId, NodeId, str | None]] = []
        self._of_clause: defaultdict[str, list[NodeId]] = defaultdict(list)
        self._exempting: list[tuple[NodeId, str]] = []
        self._terms: list[tuple[NodeId, str]] = []
        self._start: str | None = None
        self._end: str | None = None
        self._places: list[str] = []

    def read(self, sentence: Sentence, *, title: str) -> None:
        steps = (self._about_the_text, self._definition, self._exemption) if len(sentence.text) <= LONGEST else ()
        for step in steps:
            if step(sentence):
                return
        if not self._demand(sentence, title):
            passed = PassedOver(clause=sentence.clause, line=sentence.line, sentence=sentence.text)
            self.passed_over.append(passed)

    def finish(self) -> None:
        """Dates and places of the whole text, terms that obligations use, exemptions of other clauses."""
        self._link_subjects()
        for name, demand, frame, text in self._demanded:
            self._put_obligation(name, demand, frame, text)
        for exemption, clause in self._exempting:
            targets = [one for label in self._of_clause if _covers(clause, label) for one in self._of_clause[label]]
            for target in targets:
                self._drafting.link(EdgeType.EXEMPTED_BY, target, exemption)
            if not targets:
                self._doubt(exemption, f"no obligation stands in `{clause}`")

    def _about_the_text(self, sentence: Sentence) -> bool:
        if replaced := _REPLACES.fullmatch(sentence.text):
            self._precedent(sentence, replaced["verb"], replaced["what"])
            return True
        applies, ends = _APPLIES.fullmatch(sentence.text), _ENDS.fullmatch(sentence.text)
        if ends is not None:
            self._end = _last_day(ends["end"])
            return True
        if applies is None or not any(applies.groups()):
            return False
        self._start = parse_date(applies["start"] or "") or self._start
        self._end = _last_day(applies["end"] or "") or self._end
        where = _WHERE.search(applies["where"] or "")
        if where is not None:
            self._places += [one.removeprefix("the ").strip() for one in re.split(r", | and ", where["places"])]
        return True

    def _precedent(self, sentence: Sentence, verb: str, what: str) -> None:
        node = Precedent(id=NodeId(f"prec:{slug(what)}"), summary=sentence.text, relation=_RELATIONS[verb])
        self._drafting.put(node)
        self._cite(node.id, sentence)

    def _definition(self, sentence: Sentence) -> bool:
        found = read_definition(sentence.text)
        if found is None:
            return False
        node = Definition(id=NodeId(f"def:{slug(found[0])}"), term=found[0], definition_text=found[1])
        self._drafting.put(node)
        self._terms.append((node.id, found[0].lower()))
        self._cite(node.id, sentence)
        return True

    def _exemption(self, sentence: Sentence) -> bool:
        found = _EXEMPTS.fullmatch(sentence.text)
        if found is None:
            return False
        name = self._put_exemption(sentence, found["condition"])
        self._exempting.append((name, _label(found["ref"], sentence.clause)))
        return True

    def _demand(self, sentence: Sentence, title: str) -> bool:
        is_long = len(sentence.text) > LONGEST
        frame = Frame(core=sentence.text) if is_long else read_frame(sentence.text)
        demands = read_demands(frame.core)
        for demand in demands:
            number = len(self._of_clause[sentence.clause]) + 1
            rule = self._drafting.rule(sentence.clause, title)
            name = NodeId(f"{rule}.{number}")
            self._of_clause[sentence.clause].append(name)
            self._demanded.append((name, demand, frame, sentence.text))
            self._about.append((rule, name, _subject(frame.core)))
            self._drafting.link(EdgeType.CONSISTS_OF, rule, name)
            for exception in frame.exceptions:
                self._drafting.link(EdgeType.EXEMPTED_BY, name, self._put_exemption(sentence, exception))
            self._cite(name, sentence)
        return bool(demands)

    def _put_obligation(self, name: NodeId, demand: Demand, frame: Frame, text: str) -> None:
        start, end = frame.start or self._start, frame.end or self._end
        settings = self._drafting.settings
        node = Obligation(
            id=name,
            obligation_type=demand.kind.value,
            metric=demand.metric,
            value=demand.value,
            unit=demand.unit,
            effective_date_start=settings.effective if start is None else parse_instant(start),
            effective_date_end=None if end is None else parse_instant(end),
            summary=text,
        )
        self._drafting.put(node)
        for about in demand.doubts:
            self._doubt(name, about)
        if node.effective_date_start is None:
            self._doubt(name, "the text does not say since when it holds")
        self._scope(name, frame)
        for definition, term in self._terms:
            if re.search(rf"\b{re.escape(term)}s?\b", text, re.IGNORECASE):
                self._drafting.link(EdgeType.DEFINED_BY, name, definition)

    def _scope(self, name: NodeId, frame: Frame) -> None:
        given = self._drafting.settings.jurisdiction
        places = [frame.place] if frame.place else self._places or ([given] if given else [])
        for place in places:
            self._drafting.link(EdgeType.SCOPED_TO, name, self._drafting.jurisdiction(place))
        if frame.place:
            self._doubt(name, f"`{frame.place}` was taken for the place where it holds")

    def _link_subjects(self) -> None:
        """A sentence that names none is about what most of the text is about; that is a guess, and said to be one."""
        given = self._drafting.settings.subject
        named = Counter(words for _, _, words in self._about if words is not None)
        usual = named.most_common(1)[0][0] if named else _DEFAULT_SUBJECT
        for rule, name, words in self._about:
            if given is None and words is None:
                self._doubt(name, f"the sentence does not say what it is about: `{usual}` was taken")
            self._drafting.link(EdgeType.APPLIES_TO, rule, self._drafting.subject(given or words or usual))

    def _put_exemption(self, sentence: Sentence, condition: str) -> NodeId:
        name = NodeId(f"ex:{slug(condition, most=8)}")
        self._drafting.put(Exemption(id=name, condition=condition, description=sentence.text))
        self._cite(name, sentence)
        return name

    def _cite(self, name: NodeId, sentence: Sentence) -> None:
        references: tuple[Reference, ...] = tuple(find_references(sentence.text))
        self._drafting.cite_all(name, sentence.clause, references)
        origin = Origin(node=name, clause=sentence.clause, line=sentence.line, sentence=sentence.text)
        self.origins[origin] = None

    def _doubt(self, name: NodeId, about: str) -> None:
        self.doubts.append(Doubt(node=name, about=about))


def _subject(core: str) -> str | None:
    """What a sentence is about: a ship or plant that acts, else the last thing named with `a`, else with `the`."""
    actor = _ACTOR.match(core)
    if actor is not None:
        return actor["thing"]
    before = _MODAL.split(core, maxsplit=1)[0]
    found = [(one["article"] != "the", _STOPS.sub("", one["thing"]).strip()) for one in _ABOUT.finditer(before)]
    things = [thing for is_any, thing in found if is_any and thing] or [thing for _, thing in found if thing]
    return things[-1] if things else None


def _label(reference: str, clause: str) -> str:
    """What a reference of this text means where it stands: `paragraph 1` is one of the same article."""
    heading = clause.partition("(")[0]
    if reference.startswith("This"):
        return heading
    found = re.fullmatch(r"[Pp]aragraph \(?(?P<number>[0-9]+)\)?", reference)
    return f"{heading}({found['number']})" if found is not None else reference


def _last_day(text: str) -> str | None:
    date = parse_date(text)
    return None if date is None else last_moment(date)


def _covers(reference: str, label: str) -> bool:
    """`Section 3.1` names the clause that is numbered 3.1 alone."""
    wanted = reference if label.partition(" ")[2] else reference.rpartition(" ")[2]
    return label == wanted or label.startswith(f"{wanted}(")
