#!/bin/sh
# An ensemble: one job prepares, eight members simulate, one gathers. Run it inside an instance:
#
#   fluxlike start -s 4 -- sh examples/ensemble.sh
#
# The instance keeps the order. The script only says what follows what, and waits for the end.
set -eu

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

prepare=$(fluxlike submit --cwd "$directory" --job-name prepare sh -c 'echo 100 > input')

# One message, eight jobs. {cc} is the number of each; its program finds it in FLUX_JOB_CC as well.
members=$(fluxlike submit --cwd "$directory" --job-name 'member-{cc}' --cc=1-8 \
    --dependency=afterok:"$prepare" \
    sh -c 'echo $(($(cat input) + FLUX_JOB_CC)) > result-{cc}')

# afterok of every member: the gathering runs if all succeeded, and never if one did not.
dependencies=''
for member in $members; do
    dependencies="$dependencies --dependency=afterok:$member"
done
# Unquoted: one word for each dependency.
# shellcheck disable=SC2086
gather=$(fluxlike submit --cwd "$directory" --job-name gather $dependencies \
    sh -c 'cat result-* | sort -n | tail -n 1')

fluxlike job attach "$gather"
# shellcheck disable=SC2086
fluxlike job wait $members
fluxlike jobs -a -o id,name,result,nodelist
