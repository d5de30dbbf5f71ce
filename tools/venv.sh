#!/usr/bin/env bash
# Make a virtual environment: tools/venv.sh PYTHON FOLDER
# Says plainly what is missing; where we may, installs it.
set -euo pipefail

python=$1
folder=$2

if ! command -v "$python" >/dev/null; then
    echo "no \`$python\` found: install Python 3.11 or later, or name it with \`make PYTHON=...\`" >&2
    exit 1
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "Python 3.11 or later is needed, \`$python\` is $("$python" -V 2>&1); name another with \`make PYTHON=...\`" >&2
    exit 1
fi
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        echo "\`$python\` cannot make virtual environments: install its venv package (Debian: python3-venv)" >&2
        exit 1
    fi
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends python3-venv >/dev/null
fi

# A half-made environment would look finished to make.
trap 'rm -rf "$folder"' ERR
"$python" -m venv "$folder"
