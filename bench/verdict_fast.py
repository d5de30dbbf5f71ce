"""One rule decided for one record without a model: ours beside zen-engine's compiled expressions.

Zen-engine is asked whether a number is within its limit. Ours finds the reading, looks at its unit and kind, decides,
and says which verdict the judgements of all obligations come to; the second figure is the whole of the fast path, with
its pattern, its assertions and citations, as an entry holds them.
"""

from collections.abc import Callable

from assay.kernel.digest import digest_of
from assay.verdicts.docket import open_docket
from assay.verdicts.fastpath import Stability, fast_answer, may_skip_model, pattern_of
from assay.verdicts.graph.node import RiskTier
from assay.verdicts.reason import build_request, provenance_of
from assay.verdicts.verify import expected_verdict, judge_all
from bench._frame import Figure, compare, print_table
from bench.verifier import part_of, telemetry_of

__all__ = ["figures"]

_HASH = digest_of(b"bench")
# The same order of magnitude: within half a decade.
_ORDER = 0.3


def _judging(count: int) -> Callable[[], object]:
    docket, telemetry = open_docket(part_of(count), is_mapped=True), telemetry_of(count)
    return lambda: expected_verdict(judge_all(docket, telemetry, {}), is_mapped=docket.is_mapped)


def _answering() -> Callable[[], object]:
    docket, telemetry = open_docket(part_of(1, tier=RiskTier.LOW), is_mapped=True), telemetry_of(1)
    request = build_request(docket, telemetry, {}, seed=7)
    provenance = provenance_of(request, model_weight_hash=_HASH, kg_version_hash=_HASH)
    pattern = pattern_of(docket, judge_all(docket, telemetry, {}), provenance)
    stability = Stability(rule_id=docket.rule_id, pattern=pattern, count=1000)

    def answer() -> object:
        judgements = judge_all(docket, telemetry, {})
        assert may_skip_model(docket, judgements, stability)  # noqa: S101 - otherwise it is another path
        found = pattern_of(docket, judgements, provenance)
        return fast_answer(docket, telemetry, {}, judgements, stability=stability, pattern=found)

    return answer


def _zen(count: int) -> Callable[[], object]:
    import zen  # noqa: PLC0415  a peer, which only this figure needs

    given = {f"pollutant_{number}": 40.5 + number for number in range(count)}
    limits = [f"pollutant_{number} <= {50 + number}" for number in range(count)]
    compiled = zen.compile_expression(" and ".join(limits))
    assert compiled.evaluate(given) is True  # noqa: S101 - a figure for an expression that fails would be worth nothing
    return lambda: compiled.evaluate(given)


def figures() -> list[Figure]:
    return [
        compare("one obligation judged", _judging(1), _zen(1), peer_name="zen-engine", target=_ORDER),
        compare("ten obligations judged", _judging(10), _zen(10), peer_name="zen-engine", target=_ORDER),
        compare(
            "fast path, one obligation",
            _answering(),
            _zen(1),
            peer_name="zen-engine",
            target=0.03,
            note="the envelope's parts and their pattern, which the peer has none of",
        ),
    ]


if __name__ == "__main__":
    print_table(figures())
