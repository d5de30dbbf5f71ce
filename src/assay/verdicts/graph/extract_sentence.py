"""Sentences and tables into nodes, one after the other: each node keeps its clause and its words.

sentence -> about the text itself | definition | exemption of another clause | demands | passed over, with the reason
"""

import re
from collections import Counter, defaultdict

from msgspec import Struct
from msgspec.structs import replace

from assay.kernel.instant import parse_instant
from assay.verdicts.graph.edge import EdgeType
from assay.verdicts.graph.extract_about import AboutText, read_about
from assay.verdicts.graph.extract_clauses import Clause, Sentence, Table, last_sentence, split_sentences
from assay.verdicts.graph.extract_compare import comparisons_of, find_range
from assay.verdicts.graph.extract_drafting import Drafting
from assay.verdicts.graph.extract_exempt import find_targets, read_exempting
from assay.verdicts.graph.extract_frame import Frame, read_definition, read_frame, read_glossary
from assay.verdicts.graph.extract_modal import LONGEST
from assay.verdicts.graph.extract_statement import Demand, read_demands
from assay.verdicts.graph.extract_table import SkippedRow, read_table
from assay.verdicts.graph.extract_terms import Reference, find_references, slug
from assay.verdicts.graph.node import Definition, Exemption, NodeId, Precedent, PrecedentRelation
from assay.verdicts.graph.obligation import Obligation
from assay.verdicts.graph.obligation_type import ObligationType

_TERMS = re.compile(r"\b(?:definitions?|interpretation|terms?|glossary|abbreviations?|meaning)\b", re.IGNORECASE)
_UNTERM = re.compile(r"\b(?:this|that|it|which|must|shall|not|is|are)\b", re.IGNORECASE)
_ABOUT = re.compile(
    r"\b(?:of|from|in|on|at|aboard|by) (?P<article>a|an|each|every|any|the) "
    r"(?=(?P<thing>[a-z][a-z-]*(?: [a-z][a-z-]*){0,2}))"
)
_ACTOR = re.compile(
    r"^(?:A|An|The|Each|Every|Any|No) (?P<thing>(?:[a-z-]+ )?(?:ship|vessel|plant|installation|vehicle|facility"
    r"|site))\b"
)
_STOPS = re.compile(r"\b(?:must|shall|should|is|are|of|in|on|at|by|for|with|which|that|and|or|to|into|from)\b.*")
_MODAL = re.compile(r"\b(?:must|shall|should|is prohibited|are prohibited|is required|are required)\b")
_FORMAL = re.compile(
    r"^(?:This|These|The present) [\w ]+? (?:shall|may|must) (?:be (?:binding|cited|construed|known|read"
    r"|addressed|published)|enter|come|apply|extend)\b"
    r"|\bkey ?words\b.*\bto be interpreted\b|\bshall have the (?:same )?meaning|\bmay be cited as\b|^A reference to\b",
    re.IGNORECASE,
)
_POINTER = re.compile(
    r"\b(?:exceed\w*|in excess of|comply with|meet)\b[^;]{0,40}\b(?:limits?|values|levels|periods)\b[^;]{0,60}"
    r"\b(?:[Tt]able|Annex|Schedule|Appendix)\b|\b(?:shall|must|may)(?: not| at no time)?(?: be)? (?:exceed|meet"
    r"|comply|conform|satisf|observe|respect"
    r"|achieve|kept|within|cause"
    r"|discharge|apply|remain|retained|limited|as )[^;]*?"
    r"\b(?:limits?|limit values?|values|levels|periods|requirements|standards|concentrations?|frequenc(?:y"
    r"|ies))\b[^;]*?"
    r"\b(?:[Tt]able|Annex|Schedule|Appendix|below)\b"
    r"|\b(?:shall|must) be \w+ed (?:with)?in the (?:times|periods|deadlines) (?:below|given|shown|of the table)\b"
)
_EXCEPT_LEAD = re.compile(
    r"^(?P<core>\S.*?),? (?:except|unless|save)(?: when| where| if| in)?\b[^,;]*\bthe following\b.*$", re.IGNORECASE
)
_REQUIRING_LEAD = re.compile(r"\b(?:compl\w+ with|meets?|satisf\w+|fulfil\w*) the following requirements?$")
# RFC 2119 writes its key words in capitals.
_KEY_WORDS = re.compile(r"\b(?:MUST|SHALL|SHOULD|MAY|REQUIRED|RECOMMENDED)(?: NOT)?\b")
_RECITAL = re.compile(r"^(?:Whereas|WHEREAS|Having regard)\b")
_CASE = re.compile(
    r"^(?:(?:In|Where|If|When|During|For|However,?|Nevertheless,?|Notwithstanding|By way of derogation) \S"
    r"|(?:That|This|The) (?:period|limit|time|deadline) may\b)"
)
_LENIENT = re.compile(r"\b(?:may|suffices?|(?:is|are) (?:sufficient|permitted|allowed))\b")
_PENALTY = re.compile(
    r"\b(?:administrative fines?|liable (?:to|on) (?:a |an |summary|conviction|imprison|fine|penalt)"
    r"|guilty of an offence|shall be fined|fined not|subject to (?:a )?(?:fine|penalt)|imprisonment"
    r"|summary conviction)\b"
)
_DEFAULT_SUBJECT = "subject"
NO_SUBJECT = "the sentence does not say what it is about"
_SHORT_TITLE = 5
_REASONS = {
    "may": "it permits",
    "tells": "it demands nothing",
    "formal": "it is about the text itself",
    "pointer": "its limits stand in a table",
    "penalty": "it sets a penalty",
    "heading": "a heading, or a few words",
    "lead": "it introduces a list",
    "recital": "a recital demands nothing",
}


class Origin(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a node comes from; `line` is counted from 1. `lead` introduces the list that `sentence` is an item of."""

    node: str
    clause: str
    line: int
    sentence: str
    lead: str = ""


class Doubt(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person should check first."""

    node: str
    about: str


class PassedOver(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A sentence or a row of a table that became no node, and why."""

    clause: str
    line: int
    sentence: str
    reason: str = ""


class TextFact(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A sentence about the text as a whole, and how it was read: commencement, expiry, extent."""

    clause: str
    line: int
    sentence: str
    read_as: str


class _Demanded(Struct, frozen=True, kw_only=True):
    name: NodeId
    rule: NodeId
    demand: Demand
    frame: Frame
    text: str


class SentenceReader:
    """Reads in the order of the text; `finish` adds what only the end of the text tells."""

    def __init__(self, drafting: Drafting, *, has_tables: bool = False) -> None:
        self.origins: dict[Origin, None] = {}  # each once, in the order of the text
        self.doubts: list[Doubt] = []
        self.passed_over: list[PassedOver] = []
        self.facts: list[TextFact] = []
        self._drafting = drafting
        self._has_tables = has_tables
        self._demanded: list[_Demanded] = []
        self._about: list[tuple[NodeId, NodeId, str | None]] = []
        self._of_clause: defaultdict[str, list[NodeId]] = defaultdict(list)
        self._counts: Counter[NodeId] = Counter()
        self._last: list[NodeId] = []
        self._excepting: dict[str, list[NodeId]] = {}
        self._alternative = ""
        self._leads: list[Clause] = []
        self._used_leads: set[str] = set()
        self._states: dict[str, NodeId] = {}
        self._exempting: list[tuple[NodeId, str, str]] = []
        self._terms: list[tuple[NodeId, str]] = []
        self._text = AboutText()

    def read_clause(self, clause: Clause) -> None:
        if _RECITAL.match(clause.text) or _RECITAL.match(clause.lead):
            self._pass(Sentence(text=clause.text, clause=clause.label, line=clause.line, words=clause.text), "recital")
            return
        if clause.is_lead:
            self._leads.append(clause)
            self._read_excepting_lead(clause)
        for found in split_sentences(clause):
            sentence = replace(found, text=_KEY_WORDS.sub(lambda word: word.group().lower(), found.text))
            if sentence.lead:
                self._used_leads.add(sentence.lead)
            self.read(sentence, title=clause.title)

    def _read_excepting_lead(self, clause: Clause) -> None:
        """`Discharge is prohibited except when the following are met:` demands by itself; its items are exceptions."""
        words = last_sentence(clause.text).rstrip(":—–-. ")
        found = _EXCEPT_LEAD.match(words)
        if found is None or _REQUIRING_LEAD.search(words):
            return
        before = len(self._demanded)
        text = found["core"]
        self._demand(Sentence(text=text, clause=clause.label, line=clause.line, words=words), clause.title)
        self._excepting[words] = [demanded.name for demanded in self._demanded[before:]]

    def read(self, sentence: Sentence, *, title: str) -> None:
        is_short = (
            len(sentence.words.split()) <= _SHORT_TITLE
            and re.search(r"\b(?:is|are|has|have)\b", sentence.words) is None
        )
        if sentence.lead in self._excepting and not is_short:
            name = self._put_exemption(sentence, sentence.words)
            for target in self._excepting[sentence.lead]:
                self._drafting.link(EdgeType.EXEMPTED_BY, target, name)
            self._doubt(name, "check whether all conditions of the list must be met together")
            return
        if len(sentence.text) <= LONGEST:
            steps = (self._exemption, self._about_the_text, self._definition)
            if any(step(sentence, title) for step in steps):
                return
            reason = (
                "formal" if _FORMAL.search(sentence.text) else "penalty" if _PENALTY.search(sentence.text) else None
            )
            if reason is not None:
                self._pass(sentence, reason)
                return
            if self._has_tables and _POINTER.search(sentence.text) and not comparisons_of(sentence.text):
                self._pass(sentence, "pointer")
                return
        if not self._demand(sentence, title):
            targets = self._of_clause[sentence.clause] or (self._last if sentence.text.startswith("However") else [])
            if targets and _CASE.match(sentence.text) and _LENIENT.search(sentence.text):
                self._permitted(sentence, targets)
            else:
                is_short = len(sentence.text.split()) <= _SHORT_TITLE and not re.search(
                    r"\b(?:is|are)\b", sentence.text
                )
                is_may = re.search(r"\b(?:may|can)\b", sentence.text) is not None
                self._pass(sentence, "may" if is_may else "heading" if is_short else "tells")

    def read_table(self, table: Table) -> None:
        """One obligation for each limit of a table; a row without one is listed."""
        facts = self._facts_of(table)
        clause = table.label if table.label.startswith("Table") else f"{table.label}, table"
        for found in read_table(table):
            sentence = Sentence(
                text=found.words, clause=f"{clause}, row {found.row}", line=table.line, words=found.words
            )
            if not isinstance(found, SkippedRow):
                frame = Frame(core=found.words)
                self._put_demand(sentence, found.demand, frame, table.title, rule_clause=clause)
            elif found.row not in facts:
                self.passed_over.append(
                    PassedOver(clause=sentence.clause, line=table.line, sentence=found.words, reason=found.reason)
                )

    def _facts_of(self, table: Table) -> set[int]:
        """Rows about the text itself, such as `Effective date | 1 January 2026`; the first row counts as row 0."""
        found: set[int] = set()
        for index, row in enumerate(table.rows):
            words = " ".join(cell.strip() for cell in row if cell.strip())
            about = read_about(words)
            if not about.is_empty and len(row) == 2:  # noqa: PLR2004  a name and its value
                self._take(Sentence(text=words, clause=table.label, line=table.line, words=words), about)
                found.add(index)
        return found

    def finish(self) -> None:
        """Dates and places of the whole text, terms that obligations use, exemptions of other clauses."""
        self._link_subjects()
        for demanded in self._demanded:
            self._put_obligation(demanded)
        for exemption, what, clause in self._exempting:
            labels = find_targets(what, clause, (label for label, nodes in self._of_clause.items() if nodes))
            for target in (node for label in labels for node in self._of_clause[label]):
                self._drafting.link(EdgeType.EXEMPTED_BY, target, exemption)
            if not labels:
                self._doubt(exemption, f"no obligation was found in `{what}`")

        self._list_leads()

    def _list_leads(self) -> None:
        """An introduction whose items are whole sentences became part of none: it is listed too."""
        for clause in self._leads:
            words = last_sentence(clause.text)
            if not any(words.rstrip(":—–-. ") in lead for lead in self._used_leads):
                sentence = Sentence(text=words, clause=clause.label, line=clause.line, words=words)
                self._pass(sentence, "lead")
        self.passed_over.sort(key=lambda passed: passed.line)

    def _pass(self, sentence: Sentence, reason: str) -> None:
        self.passed_over.append(
            PassedOver(clause=sentence.clause, line=sentence.line, sentence=_source(sentence), reason=_REASONS[reason])
        )

    def _about_the_text(self, sentence: Sentence, title: str) -> bool:
        del title
        about = read_about(sentence.text)
        if about.is_empty:
            return False
        if about.precedent is not None and about.relation is not None:
            self._precedent(sentence, about.relation, about.precedent)
        self._take(sentence, about)
        return True

    def _take(self, sentence: Sentence, about: AboutText) -> None:
        known = self._text
        self._text = replace(
            known, start=about.start or known.start, end=about.end or known.end,
            places=tuple(dict.fromkeys((*known.places, *about.places))),
        )  # fmt: skip
        self.facts.append(
            TextFact(clause=sentence.clause, line=sentence.line, sentence=sentence.words, read_as=about.words)
        )

    def _precedent(self, sentence: Sentence, relation: PrecedentRelation, what: str) -> None:
        node = Precedent(id=NodeId(f"prec:{slug(what)}"), summary=sentence.text, relation=relation)
        self._drafting.put(node)
        self._cite(node.id, sentence)

    def _definition(self, sentence: Sentence, title: str) -> bool:
        is_glossary = _TERMS.search(title) is not None
        found = read_definition(sentence.words)
        is_quoted = (
            sentence.words.lstrip()[:1] in "“\"‘'«"
            or "term" in sentence.words[:12]
            or re.search(r"[“\"‘]", sentence.words[:60])
        )
        if (
            found is not None
            and not is_quoted
            and not is_glossary
            and (_UNTERM.search(found[0]) or not found[0][:1].isupper())
        ):
            found = None
        if found is None and is_glossary and not _MODAL.search(sentence.words):
            found = read_glossary(sentence.words)
        if found is None:
            return False
        node = Definition(id=NodeId(f"def:{slug(found[0])}"), term=found[0], definition_text=found[1])
        self._drafting.put(node)
        self._terms.append((node.id, found[0].lower()))
        self._cite(node.id, sentence)
        return True

    def _exemption(self, sentence: Sentence, title: str) -> bool:
        del title
        found = read_exempting(sentence.text)
        if found is None:
            return False
        name = self._put_exemption(sentence, found.condition)
        self._exempting.append((name, found.what, sentence.clause))
        return True

    def _permitted(self, sentence: Sentence, targets: list[NodeId]) -> None:
        """`In an emergency one person may do it`: a permission beside a duty of the same clause excepts from it."""
        name = self._put_exemption(sentence, sentence.text)
        for target in targets:
            self._drafting.link(EdgeType.EXEMPTED_BY, target, name)
        self._doubt(name, "a permission beside a duty of the same clause was read as an exception")

    def _demand(self, sentence: Sentence, title: str) -> bool:
        is_long = len(sentence.text) > LONGEST
        frame = Frame(core=sentence.text) if is_long else read_frame(sentence.text)
        demands = _listed_limit(sentence) or read_demands(frame.core)
        for demand in (_in_context(demand, title) for demand in demands):
            self._put_demand(sentence, demand, frame, title)
        return bool(demands)

    def _put_demand(
        self, sentence: Sentence, demand: Demand, frame: Frame, title: str, *, rule_clause: str | None = None
    ) -> None:
        rule = self._drafting.rule(rule_clause or sentence.clause, title)
        self._counts[rule] += 1
        name = NodeId(f"{rule}.{self._counts[rule]}")
        self._of_clause[sentence.clause].append(name)
        self._last = self._of_clause[sentence.clause]
        self._demanded.append(_Demanded(name=name, rule=rule, demand=demand, frame=frame, text=_source(sentence)))
        self._about.append((rule, name, _subject(frame.core) if rule_clause is None else None))
        self._drafting.link(EdgeType.CONSISTS_OF, rule, name)
        if sentence.is_alternative or (sentence.lead and sentence.lead == self._alternative):
            self._doubt(name, "items joined by `or` are alternatives: the graph demands each of them")
        self._alternative = sentence.lead if sentence.is_alternative else ""
        for exception in frame.exceptions:
            self._drafting.link(EdgeType.EXEMPTED_BY, name, self._put_exemption(sentence, exception))
        self._cite(name, sentence)

    def _put_obligation(self, demanded: _Demanded) -> None:
        name, demand, frame = demanded.name, demanded.demand, demanded.frame
        start, end = frame.start or self._text.start, frame.end or self._text.end
        settings = self._drafting.settings
        metric = self._metric(demanded)
        node = Obligation(
            id=name,
            obligation_type=demand.kind.value,
            metric=metric,
            value=demand.value,
            unit=demand.unit,
            effective_date_start=settings.effective if start is None else parse_instant(start),
            effective_date_end=None if end is None else parse_instant(end),
            summary=demanded.text,
        )
        self._drafting.put(node)
        for about in demand.doubts:
            self._doubt(name, about)
        if frame.condition is not None:
            self._doubt(name, f"it holds under a condition that the node does not state: `{frame.condition}`")
        if frame.aside is not None:
            self._doubt(name, f"read it together with: `{frame.aside}`")
        if node.effective_date_start is None:
            self._doubt(name, "the text does not say since when it holds")
        self._scope(name, frame)
        for definition, term in self._terms:
            if re.search(rf"(?<!\w){re.escape(term)}s?(?!\w)", demanded.text, re.IGNORECASE):
                self._drafting.link(EdgeType.DEFINED_BY, name, definition)

    def _metric(self, demanded: _Demanded) -> str | None:
        """The metric's name; one that nothing named, or that names another state already, gets its clause."""
        demand = demanded.demand
        if demand.kind is ObligationType.DISCRETIONARY:
            return None
        if demand.metric is None:
            self._doubt(demanded.name, "no words name the metric: the clause does")
            return slug(f"clause {demanded.name}")
        if demand.kind not in {ObligationType.MUST, ObligationType.MUST_NOT}:
            return demand.metric
        known = self._states.setdefault(demand.metric, demanded.rule)
        if known == demanded.rule:
            return demand.metric
        self._doubt(demanded.name, f"`{known}` has a metric of the same words: its clause was put behind the name")
        return f"{demand.metric}_{slug(demanded.name)}"

    def _scope(self, name: NodeId, frame: Frame) -> None:
        given = self._drafting.settings.jurisdiction
        places = [frame.place] if frame.place else list(self._text.places) or ([given] if given else [])
        for place in places:
            self._drafting.link(EdgeType.SCOPED_TO, name, self._drafting.jurisdiction(place))
        if frame.place:
            self._doubt(name, f"`{frame.place}` was taken for the place where it holds")

    def _link_subjects(self) -> None:
        """A sentence that names none is about what most of the text is about; that is a guess, and said to be one."""
        given = self._drafting.settings.subject
        named = Counter(words for _, _, words in self._about if words is not None)
        # What a single sentence is about is no guess for all the others.
        usual = next(
            (words for words, count in named.most_common(1) if count > 1 or len(self._about) == 1), _DEFAULT_SUBJECT
        )
        for rule, name, words in self._about:
            if given is None and words is None:
                self._doubt(name, f"{NO_SUBJECT}: `{usual}` was taken")
            self._drafting.link(EdgeType.APPLIES_TO, rule, self._drafting.subject(given or words or usual))

    def _put_exemption(self, sentence: Sentence, condition: str) -> NodeId:
        name = NodeId(f"ex:{slug(condition, most=8)}")
        self._drafting.put(Exemption(id=name, condition=condition, description=_source(sentence)))
        self._cite(name, sentence)
        return name

    def _cite(self, name: NodeId, sentence: Sentence) -> None:
        references: tuple[Reference, ...] = tuple(find_references(sentence.text))
        self._drafting.cite_all(name, sentence.clause, references)
        origin = Origin(
            node=name, clause=sentence.clause, line=sentence.line, sentence=sentence.words, lead=sentence.lead
        )
        self.origins[origin] = None

    def _doubt(self, name: NodeId, about: str) -> None:
        self.doubts.append(Doubt(node=name, about=about))


def _source(sentence: Sentence) -> str:
    """The words of the source; those of a list's introduction and of its item with a mark between them."""
    return f"{sentence.lead}: … {sentence.words}" if sentence.lead else sentence.words


def _subject(core: str) -> str | None:
    """What a sentence is about: a ship or plant that acts, else the last thing named with `a`, else with `the`."""
    actor = _ACTOR.match(core)
    if actor is not None:
        return actor["thing"]
    before = _MODAL.split(core, maxsplit=1)[0]
    found = [(one["article"] != "the", _STOPS.sub("", one["thing"]).strip()) for one in _ABOUT.finditer(before)]
    things = [thing for is_any, thing in found if is_any and thing] or [thing for _, thing in found if thing]
    return things[-1] if things else None


def _listed_limit(sentence: Sentence) -> tuple[Demand, ...]:
    """An item with a quantity, in a list that is introduced as one of limits: `A lens dose equivalent of 15 rems`."""
    is_limit = re.search(r"\blimit(?:s| values?)?(?: (?:are|is))?$", sentence.lead) is not None
    is_required = re.search(r"\b(?:requirements|ratios|minima)$", sentence.lead) is not None
    if not (is_limit or is_required) or comparisons_of(sentence.words) or find_range(sentence.words):
        return ()
    found = _ONE_QUANTITY.match(sentence.words)
    if found is None:
        return ()
    if is_limit:
        return read_demands(f"{found['thing']} must not exceed {found['value']}")
    told = ("a requirement without words that compare was read as a minimum",)
    demands = read_demands(f"{found['thing']} must be at least {found['value']}")
    return tuple(replace(demand, doubts=(*demand.doubts, *told)) for demand in demands if demand.unit is not None)


def _in_context(demand: Demand, title: str) -> Demand:
    """`Minimum length: 12` under “Password requirements”: a name of one word is completed by its heading."""
    if "the limit is told, not demanded" not in demand.doubts or not demand.metric or "_" in demand.metric:
        return demand
    context = slug(_HEADING_WORDS.sub("", title), most=3)
    return replace(demand, metric=f"{context}_{demand.metric}" if context else demand.metric)


_ONE_QUANTITY = re.compile(
    r"^(?:An annual limit, which is )?(?P<thing>\D.*?) (?:of|being equal to|equal to|is|are|:) (?P<value>[0-9].*)$",
    re.IGNORECASE,
)
_HEADING_WORDS = re.compile(
    r"\b(?:requirements?|rules?|limits?|policy|standards?|settings?|controls?)\b", re.IGNORECASE
)
