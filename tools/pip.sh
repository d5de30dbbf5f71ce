#!/usr/bin/env bash
# pip of the project's environment: tools/pip.sh FOLDER ARGUMENTS...
# Where packages come from stays the user's choice; what would install them elsewhere or otherwise is left out.
set -euo pipefail

folder=$1
shift
exec env -u PIP_TARGET -u PIP_PREFIX -u PIP_ROOT -u PIP_USER -u PIP_CONSTRAINT -u PIP_REQUIRE_HASHES -u PIP_NO_DEPS \
    -u PYTHONPATH -u PYTHONHOME \
    "$folder/bin/python" -m pip install --quiet --no-input --disable-pip-version-check "$@"
