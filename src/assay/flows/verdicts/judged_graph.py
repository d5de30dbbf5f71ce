"""The graph that a recorded verdict was reached by, found again by what the verdict says of it."""

from assay.flows.errors import NotFoundError
from assay.flows.tools import Tools
from assay.flows.verdicts.active_graph import stored_document
from assay.flows.verdicts.graph_shelf import GraphShelf, ReadyGraph
from assay.flows.verdicts.prepare_verdict import UNSIGNED_NOTE
from assay.kernel.digest import EMPTY_DIGEST, Digest
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.verdicts.envelope import Envelope
from assay.verdicts.graph.open import OpenGraph, SovereigntyMode, open_graph


def judged_content(envelope: Envelope) -> Digest | None:
    """The hash of the content; an unsigned graph is recorded as the empty hash, and named in a note (SKI 3.5)."""
    named = envelope.model_provenance.kg_version_hash
    if named != EMPTY_DIGEST:
        return named
    notes = (note.removeprefix(UNSIGNED_NOTE) for note in envelope.notes if note.startswith(UNSIGNED_NOTE))
    return next(map(Digest, notes), None)


class JudgedGraphs:
    """Graphs of a tenant by their content, opened to read old verdicts by: whether one may still be used is not asked.

    INVARIANT: they are kept apart from those in use, so that one which is not trusted any more is never judged by.
    `in_use` are graphs to take instead of opening another copy; whoever replays has none, and reads from storage.
    """

    def __init__(self, tools: Tools, tenant_id: TenantId, *, in_use: GraphShelf | None = None) -> None:
        self._tools = tools
        self._tenant_id = tenant_id
        self._in_use = in_use
        self._opened = GraphShelf()

    def find(self, content_hash: Digest | None) -> ReadyGraph | None:
        """None where it is not kept, or is not what its hash says."""
        return self.examine(content_hash)[0]

    def examine(self, content_hash: Digest | None) -> tuple[ReadyGraph | None, str | None]:
        """The graph; or None, and what is wrong with the one that is kept: nothing where none is."""
        if content_hash is None:
            return None, None
        ready = None if self._in_use is None else self._in_use.find_content(self._tenant_id, content_hash)
        if ready is not None:
            return ready, None
        try:
            return self._opened.get(self._tenant_id, content_hash, lambda: self._open(content_hash)), None
        except NotFoundError:
            return None, None
        except Error as error:
            return None, f"{error.code}: {error}"

    def _open(self, content_hash: Digest) -> OpenGraph:
        version = self._tools.database.read(lambda unit: unit.graphs.find_content(self._tenant_id, content_hash))
        if version is None:
            raise NotFoundError(f"tenant `{self._tenant_id}` has no graph with the content `{content_hash}`")
        return open_graph(stored_document(version), self._tools.anchors, mode=SovereigntyMode.ADVISORY)
