#!/usr/bin/env bash
# Install the system packages that the tests use, only those that are missing.
set -euo pipefail

missing=()
compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || command -v initdb >/dev/null || missing+=(postgresql)
compgen -G '/usr/lib/*/softhsm/libsofthsm2.so' >/dev/null || compgen -G '/usr/lib/softhsm/libsofthsm2.so' >/dev/null ||
    missing+=(softhsm2)
command -v softhsm2-util >/dev/null || missing+=(softhsm2)
command -v npm >/dev/null || missing+=(nodejs npm)
command -v strace >/dev/null || missing+=(strace)
command -v setpriv >/dev/null || missing+=(util-linux)
command -v chromium >/dev/null || missing+=(chromium)
command -v swtpm >/dev/null || missing+=(swtpm)
command -v tpm2_quote >/dev/null || missing+=(tpm2-tools)
compgen -G '/usr/lib/*/libtss2-tcti-swtpm.so.0' >/dev/null || missing+=(libtss2-tcti-swtpm0)

if [ "${#missing[@]}" -eq 0 ]; then
    exit 0
fi
if ! command -v apt-get >/dev/null; then
    echo "the tests need these programs, and this machine has no apt to install them: ${missing[*]}" >&2
    exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "the tests need these packages; install them as root: apt-get install ${missing[*]}" >&2
    exit 1
fi

echo "installing ${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
# Debian would start a cluster of its own on installation; the tests bring theirs.
mkdir -p /etc/postgresql-common
[ -e /etc/postgresql-common/createcluster.conf ] ||
    echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
