"""What a run of `assay evaluate` came to: counts that stay small however long the file is."""

import sys
from collections import Counter

from msgspec import Struct

from assay.flows.verdicts.explain_verdict import ExplainedRule
from assay.flows.verdicts.read_verdicts import Decided
from assay.operations.shown.verdicts import HELD, standing_word
from assay.surfaces.cli.table import table_text
from assay.verdicts.docket import UNRULED
from assay.verdicts.envelope import Verdict

_WORDS = (*(one.value for one in Verdict), HELD)
_HEADS = {Verdict.NULL_UNMAPPED.value: "UNMAPPED", Verdict.NULL_STALE.value: "STALE"}
_MOST_RULES = 20


class EvaluatedLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `--json` prints for each line: what was decided, in its rules' words too, or why it was refused."""

    line: int
    decided: Decided | None = None
    explained: tuple[ExplainedRule, ...] = ()
    code: str | None = None
    message: str | None = None


class RuleSummary(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule: how often it came to what; `rule_id` is empty where no rule applied."""

    rule_id: str
    rule_name: str | None
    tier: str
    counts: dict[str, int]


class EvaluationSummary(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`judged` are new, `repeated` were recorded before, `held` wait for a person; `refusals` are by code."""

    lines: int
    judged: int
    repeated: int
    refused: int
    refusals: dict[str, int]
    held: int
    verdicts: dict[str, int]
    rules: tuple[RuleSummary, ...]


class Tally:
    """Counts results as they come; `line` is the last one that was answered."""

    def __init__(self) -> None:
        self.line = 0
        self._lines = 0
        self._judged = 0
        self._repeated = 0
        self._refusals: Counter[str] = Counter()
        self._rules: dict[str, tuple[str | None, str, Counter[str]]] = {}

    @property
    def refused(self) -> int:
        return self._refusals.total()

    def count(self, one: EvaluatedLine) -> None:
        self.line = one.line
        self._lines += 1
        if one.decided is None:
            self._refusals[one.code or ""] += 1
            return
        self._judged += one.decided.is_new
        self._repeated += not one.decided.is_new
        for verdict, rule in zip(one.decided.verdicts, one.explained, strict=True):
            known = self._rules.setdefault(verdict.rule_id, (rule.rule_name, verdict.tier, Counter()))
            known[2][standing_word(verdict)] += 1

    def summary(self) -> EvaluationSummary:
        rules = [
            RuleSummary(rule_id=rule_id, rule_name=name, tier=tier, counts={word: counts[word] for word in _WORDS})
            for rule_id, (name, tier, counts) in self._rules.items()
        ]
        total: Counter[str] = sum((counts for _, _, counts in self._rules.values()), Counter())
        return EvaluationSummary(
            lines=self._lines,
            judged=self._judged,
            repeated=self._repeated,
            refused=self.refused,
            refusals=dict(self._refusals),
            held=total[HELD],
            verdicts={one.value: total[one.value] for one in Verdict},
            rules=tuple(rules),
        )


def summary_text(summary: EvaluationSummary) -> str:
    """For standard error: the rules with most against them first, then the records in one line."""
    ranked = sorted(summary.rules, key=lambda one: (one.counts[Verdict.CLEAR] - sum(one.counts.values()), one.rule_id))
    told = ranked[:_MOST_RULES]
    heads = ["RULE", "TIER", *(_HEADS.get(word, word) for word in _WORDS)]
    rows = [(_name(one), one.tier, *(str(one.counts[word]) for word in _WORDS)) for one in told]
    parts = [table_text(heads, rows, stream=sys.stderr)] if rows else []
    if len(ranked) > len(told):
        parts.append(f"and {len(ranked) - len(told)} more rules")
    return "\n".join([*parts, _records(summary)])


def _name(one: RuleSummary) -> str:
    return "(no rule)" if one.rule_id == UNRULED else one.rule_name or one.rule_id


def _records(summary: EvaluationSummary) -> str:
    codes = ", ".join(f"{count} {code}" for code, count in sorted(summary.refusals.items()))
    refused = f"{summary.refused} refused ({codes})" if codes else "none refused"
    held = f", {summary.held} held: see `assay verdict hold-list`" if summary.held else ""
    return f"{summary.lines} records: {summary.judged} judged, {summary.repeated} judged before, {refused}{held}"
