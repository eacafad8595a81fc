# shellcheck shell=sh
# What the scripts for all batch systems share: settings, and how leases are taken. A script sets
# `folder`, its own, and `system`, the name of the batch system, and then reads this file.

: "${folder:?}" "${system:?}"
umask 022  # not that of the job: others read some of the files, and nobody else may write them
for settings in "$folder/$system.env" "/etc/outboard/$system.env"; do
  [ -r "$settings" ] || continue
  # shellcheck source=/dev/null
  . "$settings"
  break
done
export OUTBOARD_POOL
[ -z "${OUTBOARD_KEY:-}" ] || export OUTBOARD_KEY
: "${OUTBOARD_POOL:?is not set; name the manager of the pool in /etc/outboard/$system.env}"

case ${OUTBOARD_CLUSTER:-} in
  *[!A-Za-z0-9_-]*)
    echo "$0: OUTBOARD_CLUSTER may have letters, digits, - and _ only; change $system.env" >&2
    exit 1 ;;
esac

outboard() { command "${OUTBOARD:-outboard}" "$@"; }

# acquire ID USER COUNT END: takes the lease of a job that is about to start. Batch systems kill this
# script when a job is cancelled meanwhile, and may run no other one then. The part behind the pipe is
# in a session of its own, so it survives, reads no word, and gives back.
acquire() {
  # shellcheck disable=SC2016  # the inner shell expands its own words
  {
    outboard pool acquire --id "$1" --for "$2" --count "$3" --exclusive --until "$4" --no-wait \
      >/dev/null && echo acquired
  } | setsid sh -c 'read -r _ || { "$1" pool release "$2" >/dev/null 2>&1; exit 1; }' \
    release "${OUTBOARD:-outboard}" "$1"
}
