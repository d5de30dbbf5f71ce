"""What flows about graphs, verdicts and sovereignty refuse."""

from assay.flows.errors import FlowError
from assay.kernel.errors import Blame
from assay.verdicts.graph.issue import Issue
from assay.verdicts.sovereignty import SovereigntyFinding


class DraftGraphError(FlowError):
    """A draft comes into use only when people accepted it and an anchor signed it, whatever the mode."""

    code = "graph.draft"


class InvalidGraphError(FlowError):
    """A knowledge graph has defects for which it may not be signed or used; `issues` lists all that were found."""

    code = "graph.invalid"
    blame = Blame.INPUT

    def __init__(self, issues: tuple[Issue, ...]) -> None:
        worst = "; ".join(f"{issue.code} {issue.node or ''}: {issue.message}" for issue in issues[:3])
        super().__init__(f"expected a graph without critical or high issues, got {len(issues)} issues: {worst}")
        self.issues = issues


class UnreviewedGraphError(FlowError):
    """People have not accepted this knowledge graph, or one of them has rejected it (SKI 2.1.2)."""

    code = "graph.unreviewed"


class NoGraphError(FlowError):
    """No knowledge graph is in use, so nothing can be judged."""

    code = "verdict.no_graph"
    blame = Blame.USAGE


class NoReasonerError(FlowError):
    """No language model is configured, and no verdict is reached without one (SKI 2.1.3)."""

    code = "verdict.no_model"
    blame = Blame.USAGE


class NotHeldError(FlowError):
    """No verdict waits for this answer."""

    code = "verdict.not_held"


class SovereigntyError(FlowError):
    """Evaluation would not stay on the operator's own ground (SKI 6.2); `findings` has all five checks."""

    code = "sovereignty.unmet"
    blame = Blame.USAGE

    def __init__(self, findings: tuple[SovereigntyFinding, ...]) -> None:
        unmet = "; ".join(f"{one.check}: {one.detail}" for one in findings if not one.is_met)
        super().__init__(f"expected every check of SKI 6.2 to be met, got {unmet}")
        self.findings = findings


class AttestationDocumentError(FlowError):
    """A text is not the document that `/api/sovereignty` answers with."""

    code = "sovereignty.document"
    blame = Blame.INPUT


class SubstitutedWeightsError(FlowError):
    """Another model answered than the one that was named: nothing of what it said is used."""

    code = "sovereignty.weights"
    blame = Blame.INPUT
