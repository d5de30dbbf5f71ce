"""The judge on one core: the time of a verdict on two obligations, loading, and memory.

The targets are absolute (milliseconds and megabytes) and written as ratios to them; the processor's time is what is
compared, so that a busy machine does not count against it. No peer of this size is right on such cases.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator

from bench._frame import Aim, Figure, load, print_table

__all__ = ["figures"]

_P50_MS, _P95_MS, _LOAD_MS, _RSS_MB = 100, 250, 300, 150
_PROBE = """
import json, resource, time
from itertools import islice
import numpy
from assay.model.engine import Engine
from assay.model.errors import CaseSizeError
from assay.model.form import SECOND
from assay.model.judge import judge, judge_many
from assay.model.tokenizer import read_case
from assay.model.weights import parse_weights
from assay.verdicts.reason import build_request
from tests.model.networks import WEIGHTS
from assay.flows.model.case_file import load_sealed_cases
from assay.verdicts.case import open_case, parse_case
start = time.process_time()
engine = Engine(parse_weights(WEIGHTS.read_bytes()))
loaded = time.process_time() - start
def request_of(opened):
    return build_request(opened.docket, opened.telemetry, opened.facts, seed=0)
asked = []
for case in load_sealed_cases().cases:
    if len(case.case.obligations) == 2:
        request = request_of(open_case(case.case))
        try:
            read_case(request.prompt)
        except CaseSizeError:
            continue
        asked.append(request)
    if len(asked) == 120:
        break
# As large as a case may be, sixteen times: what a full batch of the hardest questions needs.
limits = SECOND.limits
members = [f"t{at}" for at in range(limits.members)]
conditions = " and ".join(f"c{at} < 12345678.9012345" for at in range(limits.comparisons - 1))
measured = {f"c{at}": 12345678.9012344 for at in range(limits.comparisons - 1)}
largest = request_of(open_case(parse_case({
    "obligations": [{"id": f"ob-{at}", "type": "must_not_be_one_of", "metric": "m", "value": members}
                    for at in range(limits.obligations)],
    "measurement": {"m": "t40", **measured},
    "exemptions": {f"ob-{at}": [conditions] for at in range(limits.obligations)},
})))
times = []
for request in asked:
    start = time.process_time()
    judge(engine, request.prompt, bytes(request.grammar))
    times.append(time.process_time() - start)
times.sort()
judge_many(engine, [(largest.prompt, bytes(largest.grammar))] * 16)
print(json.dumps([times[60] * 1e3, times[114] * 1e3, loaded * 1e3,
                  resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, sum(times)]))
"""


def _measured() -> list[float]:

    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(("src", "."))}
    done = subprocess.run([sys.executable, "-c", _PROBE], env=environment, capture_output=True, check=True, text=True)
    found: list[float] = json.loads(done.stdout)
    return found


def _figures() -> Iterator[Figure]:
    middle, late, loaded, memory, seconds = _measured()
    rows = (
        ("judge: verdict on two obligations, p50", middle, _P50_MS, "ms"),
        ("judge: verdict on two obligations, p95", late, _P95_MS, "ms"),
        ("judge: loading after numpy", loaded, _LOAD_MS, "ms"),
        ("judge: memory after sixteen of the largest cases at once", memory, _RSS_MB, "MB"),
    )
    for name, ours, most, unit in rows:
        yield Figure(
            name=name,
            ours=ours,
            peer=None,
            peer_name="the budget",
            unit=unit,
            ratio=ours / most,
            target=1.0,
            cpu_seconds=seconds,
            load=load(),
            aim=Aim.AT_MOST,
        )


def figures() -> list[Figure]:
    return list(_figures())


if __name__ == "__main__":
    print_table(figures())
