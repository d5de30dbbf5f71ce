"""Graphs that are in use, opened once: verified, indexed, and with the dockets that records have asked for.

activation -> the document of its hash -> verified again -> index -> dockets, each made when first needed
"""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from msgspec.structs import replace

from assay.kernel.digest import Digest
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.graph_store import GraphActivation
from assay.verdicts.docket import Docket, docket_key, open_docket, parts_of
from assay.verdicts.graph.index import GraphIndex, build_index
from assay.verdicts.graph.open import OpenGraph
from assay.verdicts.graph.parse import parse_graph
from assay.verdicts.rulings import Rulings
from assay.verdicts.slice import RuleSlice, Slice, Slicer
from assay.verdicts.window_plan import is_windowed

_MOST_GRAPHS = 4
_MOST_DOCKETS = 4096


class DocketShelf:
    """The dockets of one graph that records have asked for; several threads may use it at once."""

    def __init__(self, index: GraphIndex) -> None:
        self._slicer = Slicer(index)
        self._rulings = index.rulings
        self._dockets: OrderedDict[tuple[object, ...], Docket] = OrderedDict()
        self._of_rules: dict[int, tuple[tuple[RuleSlice, ...], tuple[Docket, ...]]] = {}
        self._lock = Lock()

    def find(
        self, subject: str, *, as_of: Instant, jurisdiction: str | None = None
    ) -> tuple[Slice, tuple[Docket, ...]]:
        """What applies to a record, and its dockets: looked up as a whole where the same applied to an earlier one."""
        found = self._slicer.slice(subject, as_of=as_of, jurisdiction=jurisdiction)
        known = self._of_rules.get(id(found.rules))
        # Kept together with its dockets, no other can have the same identity; that there are none says too little.
        if known is not None and known[0] is found.rules and found.rules:
            return found, known[1]
        dockets = self.dockets_of(found)
        if len(self._of_rules) >= _MOST_DOCKETS:
            self._of_rules.clear()
        self._of_rules[id(found.rules)] = found.rules, dockets
        return found, dockets

    def dockets_of(self, found: Slice) -> tuple[Docket, ...]:
        """One for each rule that applies; equal slices share theirs."""
        return tuple(self._docket(found, number) for number in range(len(parts_of(found))))

    def _docket(self, found: Slice, number: int) -> Docket:
        part = parts_of(found)[number]
        key = docket_key(found, part)
        with self._lock:
            known = self._dockets.get(key)
            if known is not None:
                self._dockets.move_to_end(key)
                return known
        made = open_docket(part, is_mapped=found.subject is not None, rulings=self._rulings)
        with self._lock:
            self._dockets[key] = made
            if len(self._dockets) > _MOST_DOCKETS:
                self._dockets.popitem(last=False)
        return made


class ReadyGraph:
    """One graph, ready to judge by; several threads may use it at once."""

    def __init__(self, opened: OpenGraph) -> None:
        self.opened = opened
        self._others: dict[Rulings, ReadyGraph] = {}
        self.index: GraphIndex = build_index(opened.graph)
        self.dockets = DocketShelf(self.index)
        self._looking_back = frozenset(
            subject
            for subject, rules in self.index.rules.items()
            if any(is_windowed(part.obligation) for rule, _ in rules for part in rule.obligations)
        )

    def under(self, rulings: Rulings) -> "ReadyGraph":
        """The same document as other rulings read it: verdicts are explained and replayed by those of their time."""
        if rulings is self.index.rulings:
            return self
        if rulings not in self._others:
            graph = parse_graph(self.opened.document, rulings=rulings)
            self._others[rulings] = ReadyGraph(replace(self.opened, graph=graph))
        return self._others[rulings]

    def looks_back(self, subject: str) -> bool:
        """Whether any rule of the subject, wherever and whenever it applies, looks at earlier records."""
        found = None if subject in self._looking_back else self.index.find_measured(subject)
        return subject in self._looking_back or (found is not None and found.id in self._looking_back)

    def dockets_of(self, found: Slice) -> tuple[Docket, ...]:
        """One for each rule that applies; equal slices share theirs."""
        return self.dockets.dockets_of(found)


class GraphShelf:
    """The graphs that were asked for last, by tenant and document."""

    def __init__(self) -> None:
        self._graphs: OrderedDict[tuple[TenantId, Digest], ReadyGraph] = OrderedDict()
        self._activations: dict[TenantId, GraphActivation] = {}
        self._lock = Lock()

    def find_activation(self, tenant_id: TenantId) -> GraphActivation | None:
        """The one that was last held against its entry in this process."""
        return self._activations.get(tenant_id)

    def note_activation(self, tenant_id: TenantId, activation: GraphActivation) -> None:
        self._activations[tenant_id] = activation

    def get(self, tenant_id: TenantId, document_hash: Digest, load: Callable[[], OpenGraph]) -> ReadyGraph:
        """The graph, opened by `load` where it is not here yet. Others wait meanwhile: it is the one they want too."""
        with self._lock:
            key = (tenant_id, document_hash)
            ready = self._graphs.get(key)
            if ready is None:
                ready = ReadyGraph(load())
                self._graphs[key] = ready
                if len(self._graphs) > _MOST_GRAPHS:
                    self._graphs.popitem(last=False)
            self._graphs.move_to_end(key)
            return ready

    def find_content(self, tenant_id: TenantId, content_hash: Digest) -> ReadyGraph | None:
        """One that is here already, by what it says; nothing is opened."""
        with self._lock:
            here = [ready for (owner, _), ready in self._graphs.items() if owner == tenant_id]
        return next((ready for ready in here if ready.opened.content_hash == content_hash), None)
