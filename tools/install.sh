# Read by other scripts: packages that Debian and Ubuntu have, installed when root; others are told the command.

fail() {
    printf 'fluxlike: %s\n' "$@" >&2
    exit 1
}

# install PACKAGE...: only root can, and only with apt-get.
install() {
    if [ "$(id -u)" != 0 ]; then
        fail "$1 is missing. Install it and try again:" "    sudo apt-get install -y $*"
    fi
    command -v apt-get >/dev/null || fail "$1 is missing, and there is no apt-get here to install it with"
    printf 'fluxlike: installing %s\n' "$*" >&2
    export DEBIAN_FRONTEND=noninteractive
    quiet_services
    apt-get update -qq >&2
    apt-get install -y -qq --no-install-recommends "$@" >&2 || fail "apt-get could not install $*"
}

# Packages start their servers as they are installed, unless a policy forbids it. Ours ends with this script.
quiet_services() {
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
        trap 'rm -f "$policy"' EXIT
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod 755 "$policy"
    fi
}
