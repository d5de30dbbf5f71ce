"""What a process holds for verdicts: the settings of SKI, opened graphs, counts of the guard, measured weights, locks.

activation -> the document of its hash -> verified again -> index -> dockets, each made when first needed
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from threading import Lock
from weakref import WeakKeyDictionary

from msgspec import Struct
from msgspec.structs import replace

from assay.kernel.digest import Digest
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.json_text import JsonValue
from assay.ports.egress import EgressGuard
from assay.ports.graph_store import GraphActivation
from assay.verdicts.agreement import DEFAULT_THRESHOLD, DEFAULT_WINDOW
from assay.verdicts.cover import CoverageEntry
from assay.verdicts.docket import Docket, docket_key, open_docket, parts_of
from assay.verdicts.fastpath import DEFAULT_STABLE, Stability
from assay.verdicts.graph.index import GraphIndex, build_index
from assay.verdicts.graph.open import OpenGraph, SovereigntyMode
from assay.verdicts.graph.parse import parse_graph
from assay.verdicts.rulings import Rulings
from assay.verdicts.slice import RuleSlice, Slice, Slicer
from assay.verdicts.sovereignty import Place
from assay.verdicts.telemetry import SkewLimits
from assay.verdicts.window_plan import is_windowed

UNKNOWN_COMMIT = "unknown"
_DAY = 24 * 60 * 60


class SkiSettings(Struct, frozen=True, kw_only=True):
    """The defaults are the strict choice.

    `is_v2` selects the runtime of SKI 2, which asks no model (SKI 11.4).
    `fast_path_n` is after how many equal evaluations a low rule's model may be left out (SKI 5.6), 0 for never.
    `keep_seconds` is how long records stay in the buffer that windows look back at. `attest_seconds` is when a held
    verdict is due, and `token_seconds` how long an attestation may be used. `require_review` lets only a graph into
    use that people here accepted; an operator whose graphs are reviewed elsewhere says so by switching it off.
    `weights` is the local registry of weight hashes, `is_backend_tagged` the operator's word for a backend that SKI 6.2
    does not name. `egress_channels` are all ways out of the deployment, none of them on the evaluation path.
    `requires_receipt` refuses a verdict that no receipt can be had for (SKI 9.3).
    `build_provenance` is the statement that the build made, None where the running code was not built.
    """

    mode: SovereigntyMode = SovereigntyMode.STRICT
    is_v2: bool = False
    requires_receipt: bool = False
    fast_path_n: int = DEFAULT_STABLE
    agreement_window: int = DEFAULT_WINDOW
    agreement_threshold: Decimal = DEFAULT_THRESHOLD
    keep_seconds: int = 30 * _DAY
    skew: SkewLimits = SkewLimits()
    decoder_seed: int = 0
    max_tokens: int = 2048
    attest_seconds: int = 7 * _DAY
    token_seconds: int = _DAY
    require_review: bool = True
    weights: tuple[Digest, ...] = ()
    is_backend_tagged: bool = False
    ledger_place: Place | None = None
    evaluation_egress: tuple[str, ...] = ()
    deployment_local: tuple[str, ...] = ()
    egress_channels: tuple[str, ...] = ()
    codebase_commit: str = UNKNOWN_COMMIT
    build_provenance: JsonValue = None

    @property
    def is_strict(self) -> bool:
        return self.mode is SovereigntyMode.STRICT


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


class EgressShelf:
    """A guard counts from 0 in every process; what the ledger has of its count is kept beside it."""

    def __init__(self) -> None:
        self._recorded: WeakKeyDictionary[EgressGuard, int] = WeakKeyDictionary()
        self._cleared: WeakKeyDictionary[EgressGuard, int] = WeakKeyDictionary()
        # Held while attempts are written down, so that none is written twice.
        self.writing = Lock()

    def unrecorded(self, guard: EgressGuard | None) -> int:
        return 0 if guard is None else guard.attempts - self._recorded.get(guard, 0)

    def uncleared(self, guard: EgressGuard | None) -> int:
        return 0 if guard is None else guard.attempts - self._cleared.get(guard, 0)

    def note_recorded(self, guard: EgressGuard, attempts: int) -> None:
        self._recorded[guard] = self._recorded.get(guard, 0) + attempts

    def note_cleared(self, guard: EgressGuard | None) -> None:
        """Count the attempts that are on record as cleared; one that came since stays open."""
        if guard is not None:
            self._cleared[guard] = self._recorded.get(guard, 0)


class Measured(Struct, frozen=True, kw_only=True):
    model_weight_hash: Digest
    entry_hash: Digest


class MeasuredShelf:
    """`turn` is held while something is measured, so that it is done once."""

    def __init__(self) -> None:
        self.turn = Lock()
        self._measured: dict[TenantId, Measured] = {}

    def find(self, tenant_id: TenantId, weights: Digest) -> Measured | None:
        found = self._measured.get(tenant_id)
        return found if found is not None and found.model_weight_hash == weights else None

    def find_any(self, tenant_id: TenantId) -> Measured | None:
        return self._measured.get(tenant_id)

    def put(self, tenant_id: TenantId, measured: Measured) -> None:
        self._measured[tenant_id] = measured


class StabilityShelf:
    """How stable rules were, each with the entry up to which its verdicts were counted; from committed entries."""

    def __init__(self) -> None:
        self._known: dict[tuple[TenantId, str], tuple[int, Stability | None]] = {}
        self._lock = Lock()

    def find(self, tenant_id: TenantId, rule_id: str) -> tuple[int, Stability | None]:
        return self._known.get((tenant_id, rule_id), (0, None))

    def put(self, tenant_id: TenantId, rule_id: str, through: int, stability: Stability | None) -> None:
        with self._lock:
            if through > self.find(tenant_id, rule_id)[0]:
                self._known[tenant_id, rule_id] = through, stability


class CoverageShelf:
    """The Coverage Register of each tenant, with the entry up to which it was computed. `turn` is held meanwhile."""

    def __init__(self) -> None:
        self.turn = Lock()
        self.known: dict[TenantId, tuple[int, dict[str, CoverageEntry]]] = {}


_STRIPES = 256


class SubjectLocks:
    """A fixed number of locks, since subjects are many; two subjects may share one, and then only wait."""

    def __init__(self) -> None:
        self._locks = tuple(Lock() for _ in range(_STRIPES))

    @contextmanager
    def hold(self, tenant_id: TenantId, subjects: Iterable[str]) -> Iterator[None]:
        """Hold the locks of all these subjects, which everybody takes in the same order: no two wait for each other."""
        with ExitStack() as held:
            for place in sorted({hash((tenant_id, subject)) % _STRIPES for subject in subjects}):
                held.enter_context(self._locks[place])
            yield
