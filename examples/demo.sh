#!/bin/sh
# A tour of a running instance. `make demo` runs it on four brokers:
#
#   fluxlike start -s 4 -- sh examples/demo.sh
set -eu
exec 2>&1 # what commands complain about belongs to the tour

title() {
    printf '\n== %s\n' "$1"
}

# Show a command line, then run it.
show() {
    printf '$ %s\n' "$*"
    "$@"
}

title 'A tree of four brokers, and what they have'
show fluxlike overlay status
show fluxlike resource list
show fluxlike uptime

title 'One job, a task on each node; its output comes here, each line with its task'
show fluxlike run -N 4 -l printenv FLUX_TASK_RANK

title 'Eight jobs in one message, and all of their output'
show fluxlike submit --cc=1-8 --watch echo member '{cc}' of the ensemble

title 'A job that runs, one that waits for it, and what they hold'
printf '$ %s\n' 'long=$(fluxlike submit --wait-event=start sleep 600)'
long=$(fluxlike submit --wait-event=start sleep 600)
show fluxlike submit --dependency=afterok:"$long" hostname
show fluxlike jobs
show fluxlike resource list

title 'Cancelled: the one that waited can never run now, and says so'
show fluxlike cancel -m enough "$long"
show fluxlike job wait "$long" || true
show fluxlike jobs -f failed,canceled -o endreason

title 'A job that fails: its exit code is ours'
code=0
show fluxlike run false || code=$?
printf 'exit code %s\n' "$code"

title 'A request that can never fit is refused at once, with the reason'
show fluxlike submit -N 400 hostname || true

title 'Everything that happened to one job'
show fluxlike job eventlog -H "$long"

title 'All jobs'
show fluxlike jobs -a --stats
