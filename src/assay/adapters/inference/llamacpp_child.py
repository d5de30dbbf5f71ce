"""The process of a llama.cpp server. Run as a file, alone: it imports nothing of ours, and the engine only when run.

It serves until its standard input ends, which also happens when whoever started it dies.
"""

import json
import os
import shutil
import sys
import threading
from pathlib import Path


def main(options_text: str) -> None:
    """Load, say `ready` and the engine's version on standard output, serve, and leave nothing behind."""
    options = json.loads(options_text)
    # Before the weights are loaded: a parent may die while that goes on.
    watcher = threading.Thread(target=_leave_with_parent, args=(Path(options["socket"]).parent,), daemon=True)
    watcher.start()

    import xllamacpp  # noqa: PLC0415 - an extra, and never in a process that does anything else

    params = xllamacpp.CommonParams()
    params.model.path = options["weights"]
    params.model_alias = {options["model"]}
    # Read whole, not mapped: what somebody writes into the file later is not what runs.
    params.load_mode = xllamacpp.llama_load_mode.LLAMA_LOAD_MODE_NONE
    params.hostnames = [options["socket"]]
    params.n_ctx, params.n_parallel = options["context_tokens"], 1
    if options["threads"]:
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options["threads"]
    params.offline, params.ui, params.warmup, params.fit_params = True, False, False, False
    params.cache_prompt, params.cache_ram_mib, params.endpoint_slots = False, 0, False
    params.verbosity = 0
    server = xllamacpp.Server(params)
    sys.stdout.write(f"ready xllamacpp-{xllamacpp.__version__}\n")
    sys.stdout.flush()
    watcher.join()
    del server


def _leave_with_parent(folder: Path) -> None:
    # Past Python's own buffer, whose lock a failing start would wait for.
    while os.read(0, 4096):
        continue
    shutil.rmtree(folder, ignore_errors=True)
    # The engine's threads may be in the middle of a text that nobody waits for.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
