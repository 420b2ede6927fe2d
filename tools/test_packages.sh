#!/bin/sh
# What the tests need beside Python packages: the PostgreSQL server, which they start themselves.
set -eu

. "${0%/*}/install.sh"

for program in /usr/lib/postgresql/*/bin/postgres; do
    if [ -x "$program" ]; then
        exit 0
    fi
done
install postgresql
