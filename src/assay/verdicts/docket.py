"""A docket: everything about one rule's slice that no record changes, made once and used for every record.

slice of a rule -> checks, citable nodes, verdict choices, grammar, head of the prompt
A docket holds no more than its slice; two equal slices have equal dockets, so it may be kept by `docket_key`.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.verdicts._agree import Agreement, compile_agreement
from assay.verdicts._case_line import CaseLine, compile_line
from assay.verdicts.envelope import CitationRole, KgCitation, Verdict
from assay.verdicts.grammar import Grammar, build_grammar, verdict_choices
from assay.verdicts.graph.edge import EdgeType
from assay.verdicts.graph.graph import Node
from assay.verdicts.graph.node import Exemption, RiskTier
from assay.verdicts.predicate import Check, compile_check
from assay.verdicts.prompt import PromptHead, render_head
from assay.verdicts.rulings import CURRENT, Rulings
from assay.verdicts.slice import PlaceDoubt, RuleSlice, Slice
from assay.verdicts.window_plan import WindowPlan

# In the ledger's column `rule_id`, where no rule applies: not the id of any node, which is never empty.
UNRULED = ""


@dataclass(frozen=True, slots=True)
class Docket:
    """`part` is None where the subject is unknown to the graph, or no rule applies to it.

    `doubt` is the slice's: the verdict is then at best DISCRETIONARY. `rulings` are those that the verifier follows.
    """

    part: RuleSlice | None
    is_mapped: bool
    checks: tuple[Check, ...]
    by_id: Mapping[str, Check]
    citable: Mapping[str, KgCitation]
    citations: frozenset[KgCitation]
    agreements: tuple[Agreement | None, ...]
    choices: tuple[Verdict, ...]
    grammar: Grammar
    head: PromptHead
    lines: tuple[CaseLine, ...]
    plans: tuple[WindowPlan, ...]
    rule_id: str
    tier: RiskTier
    doubt: PlaceDoubt | None
    rulings: Rulings


def parts_of(found: Slice) -> tuple[RuleSlice | None, ...]:
    """One envelope for each; a subject without rules, or unknown, still runs every step once."""
    return found.rules or (None,)


def open_docket(part: RuleSlice | None, *, is_mapped: bool, rulings: Rulings = CURRENT) -> Docket:
    """Refuses only a slice that is too large for a grammar."""
    checks = () if part is None else checks_of(part)
    citable = {} if part is None else _citable(part)
    doubt = None if part is None else part.doubt
    choices = _choices(checks, doubt, is_mapped=is_mapped)
    return Docket(
        part=part,
        is_mapped=is_mapped,
        checks=checks,
        by_id={check.obligation_id: check for check in checks},
        citable=citable,
        citations=frozenset(citable.values()),
        agreements=tuple(compile_agreement(check) for check in checks),
        choices=choices,
        grammar=build_grammar(checks, citable.values(), choices),
        head=render_head(part, is_mapped=is_mapped),
        lines=_lines(checks, doubt),
        plans=tuple(check.plan for check in checks if check.plan is not None),
        rule_id=UNRULED if part is None else part.rule.id,
        # Without a rule there is nobody to say low: a divergence must not be honoured.
        tier=RiskTier.MEDIUM if part is None else part.tier,
        doubt=doubt,
        rulings=rulings,
    )


def _choices(checks: Sequence[Check], doubt: PlaceDoubt | None, *, is_mapped: bool) -> tuple[Verdict, ...]:
    """What the types leave open; with a jurisdiction in doubt no more than a breach, or a person's judgement."""
    choices = verdict_choices(checks, is_mapped=is_mapped)
    if doubt is None:
        return choices
    return (*(one for one in choices if one is Verdict.FLAG), Verdict.DISCRETIONARY)


def _lines(checks: Sequence[Check], doubt: PlaceDoubt | None) -> tuple[CaseLine, ...]:
    """Obligations that may apply are shown to small models as one more that only a person can judge."""
    lines = [compile_line(place, check) for place, check in enumerate(checks)]
    if doubt is not None:
        lines.append(lambda _readings, _facts: f"o{len(checks)} must ~")
    return tuple(lines)


def docket_key(found: Slice, part: RuleSlice | None) -> tuple[object, ...]:
    """Equal for equal parts of slices of one graph: the rest follows from subject, obligations and jurisdictions."""
    if found.subject is None or part is None:
        return (None if found.subject is None else found.subject.id,)
    matched = [node.id for node in part.jurisdictions]
    return (found.subject.id, part.rule.id, *[node.id for node in part.obligations], part.doubt, *matched)


def checks_of(part: RuleSlice) -> tuple[Check, ...]:
    """One for each obligation of the slice, with the exemptions that it is linked to."""
    known = {exemption.id: exemption for exemption in part.exemptions}
    exemptions: defaultdict[str, list[Exemption]] = defaultdict(list)
    for edge in part.edges:
        if edge.type is EdgeType.EXEMPTED_BY and edge.target in known:
            exemptions[edge.source].append(known[edge.target])
    return tuple(
        compile_check(
            obligation,
            exemptions[obligation.id],
            conversions=[one for one in part.units if one.target == obligation.unit],
            requires_unit=part.requires_units,
        )
        for obligation in part.obligations
    )


def _citable(part: RuleSlice) -> dict[str, KgCitation]:
    nodes: tuple[tuple[CitationRole, Sequence[Node]], ...] = (
        (CitationRole.OBLIGATION, part.obligations),
        (CitationRole.DEFINITION_RESOLVED, part.definitions),
        (CitationRole.EXEMPTION_CONSIDERED, part.exemptions),
        (CitationRole.PRECEDENT_REFERENCED, part.precedents),
        (CitationRole.JURISDICTION_MATCHED, part.jurisdictions),
    )
    return {
        node.id: KgCitation(node_id=node.id, version=node.version, role=role) for role, group in nodes for node in group
    }
