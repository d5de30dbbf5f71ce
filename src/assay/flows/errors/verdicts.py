"""What flows about graphs, verdicts and sovereignty refuse."""

from assay.flows.errors import FlowError
from assay.kernel.errors import Blame, Code
from assay.verdicts.graph.issue import Issue
from assay.verdicts.sovereignty import SovereigntyFinding


class VerdictFlowError(FlowError):
    """A graph cannot be used, or a record evaluated."""

    graph_draft = Code(
        "graph.draft", "A draft comes into use only when people accepted it and an anchor signed it, whatever the mode."
    )
    graph_unreviewed = Code(
        "graph.unreviewed", "People have not accepted this knowledge graph, or one of them has rejected it (SKI 2.1.2)."
    )
    no_graph = Code("verdict.no_graph", "No knowledge graph is in use, so nothing can be judged.", Blame.USAGE)
    no_model = Code(
        "verdict.no_model",
        "No language model is configured, and no verdict is reached without one (SKI 2.1.3).",
        Blame.USAGE,
    )
    not_held = Code("verdict.not_held", "No verdict waits for this answer.")
    sovereignty_document = Code(
        "sovereignty.document", "A text is not the document that `/api/sovereignty` answers with.", Blame.INPUT
    )
    sovereignty_weights = Code(
        "sovereignty.weights",
        "Another model answered than the one that was named: nothing of what it said is used.",
        Blame.INPUT,
    )


class InvalidGraphError(FlowError):
    """A knowledge graph has defects for which it may not be signed or used; `issues` lists all that were found."""

    code = "graph.invalid"
    blame = Blame.INPUT

    def __init__(self, issues: tuple[Issue, ...]) -> None:
        worst = "; ".join(f"{issue.code} {issue.node or ''}: {issue.message}" for issue in issues[:3])
        super().__init__(f"expected a graph without critical or high issues, got {len(issues)} issues: {worst}")
        self.issues = issues


class SovereigntyError(FlowError):
    """Evaluation would not stay on the operator's own ground (SKI 6.2); `findings` has all five checks."""

    code = "sovereignty.unmet"
    blame = Blame.USAGE

    def __init__(self, findings: tuple[SovereigntyFinding, ...]) -> None:
        unmet = "; ".join(f"{one.check}: {one.detail}" for one in findings if not one.is_met)
        super().__init__(f"expected every check of SKI 6.2 to be met, got {unmet}")
        self.findings = findings
