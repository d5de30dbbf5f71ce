#!/usr/bin/env bash
# Run a command of the Makefile (default: demo) on a bare Debian 12: nothing there but Python, make and certificates.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${1:-demo}
if [ "$(id -u)" -ne 0 ]; then
    echo "a chroot can only be made by root" >&2
    exit 1
fi
if ! command -v debootstrap >/dev/null; then
    if ! command -v apt-get >/dev/null; then
        echo "debootstrap is missing, and this machine has no apt to install it" >&2
        exit 1
    fi
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends debootstrap >/dev/null
fi

root=$(mktemp -d)
mounted=()
clean_up() {
    local folder
    for folder in "${mounted[@]}"; do
        umount "$folder" || umount --lazy "$folder"
    done
    # Never walk into a folder of the host that is still mounted.
    rm -rf --one-file-system "$root"
}
trap clean_up EXIT

# The mirror that this machine already uses, if it has one for this release; otherwise the default of debootstrap.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Codename: bookworm' 2>/dev/null | head -n 1 || true)
echo "making a bare Debian 12 in $root" >&2
debootstrap --variant=minbase --include=python3,python3-venv,make,ca-certificates bookworm "$root" $mirror >"$root.log" ||
    { tail -n 20 "$root.log" >&2; exit 1; }
rm -f "$root.log"

mount -t proc proc "$root/proc"
mounted+=("$root/proc")

# How this machine reaches the package index is not our business, so it is passed on as it is.
give() {
    if [ -f "$1" ]; then
        mkdir -p "$root$(dirname "$1")"
        cp --dereference "$1" "$root$1"
    fi
}
for file in /etc/resolv.conf /etc/hosts /etc/pip.conf "$HOME/.config/pip/pip.conf" "$HOME/.pip/pip.conf" \
    /etc/ssl/certs/ca-certificates.crt; do
    give "$file"
done
passed=()
for name in $(compgen -e); do
    case $name in
    PIP_* | SSL_CERT_* | REQUESTS_CA_BUNDLE | CURL_CA_BUNDLE | [Hh][Tt][Tt][Pp]*_[Pp][Rr][Oo][Xx][Yy] | [Nn][Oo]_[Pp][Rr][Oo][Xx][Yy])
        passed+=("$name=${!name}")
        give "${!name}"
        ;;
    esac
done
if [ -d "${PIP_FIND_LINKS:-}" ]; then
    mkdir -p "$root$PIP_FIND_LINKS"
    mount --bind "$PIP_FIND_LINKS" "$root$PIP_FIND_LINKS"
    mounted+=("$root$PIP_FIND_LINKS")
fi

mkdir -p "$root/assay"
git archive HEAD | tar -x -C "$root/assay"
chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME="$HOME" LANG=C.UTF-8 "${passed[@]}" \
    make -C /assay "$target"
