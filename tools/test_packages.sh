#!/bin/sh
# What the tests need beside Python packages: the PostgreSQL server, which they start themselves, and strace, which shows
# them what is on disk when a client is told of it.
set -eu

. "${0%/*}/install.sh"

missing=
command -v strace >/dev/null || missing=strace
set -- /usr/lib/postgresql/*/bin/postgres
[ -x "$1" ] || missing="$missing postgresql"
if [ -n "$missing" ]; then
    install $missing
fi
