#!/bin/sh
# Makes a virtual environment: tools/venv.sh DIR
# PYTHON names the interpreter; without it the first one that is new enough is taken.
# What Debian and Ubuntu keep in packages of their own is installed when root, else the command for it is printed.
set -eu

directory=$1
wanted='3.11'

. "${0%/*}/install.sh"

new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

# Can this interpreter make an environment with pip in it? Debian's cannot until python3-venv is there.
can_make_one() {
    "$1" -c 'import ensurepip, venv' 2>/dev/null
}

choose() {
    for name in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
        if new_enough "$name"; then
            printf '%s\n' "$name"
            return
        fi
    done
}

if [ -z "${PYTHON:-}" ] && ! command -v python3 >/dev/null; then
    install python3 python3-venv
fi

python=$(choose)
if [ -z "$python" ]; then
    found=$("${PYTHON:-python3}" --version 2>&1) || found="no ${PYTHON:-python3} that runs"
    fail "Python $wanted or newer is needed; here is $found." \
        "Install one and name it:  make PYTHON=python$wanted demo"
fi

if ! can_make_one "$python"; then
    install "python$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv"
    can_make_one "$python" || fail "$(command -v "$python") has no ensurepip or no venv module; name another:  make PYTHON=..."
fi

rm -rf "$directory"
"$python" -m venv "$directory"
