# shellcheck shell=sh
# What the prolog and the epilog for Grid Engine share. Both run as root, with an environment that
# the job's user has chosen (qsub -v), so they start again with an empty one. Grid Engine itself sets
# the variables that they keep, after those of the user; and it gives the words of the command.

folder=${0%/*}
if [ "${4:-}" != clean ]; then
  [ "$#" -eq 3 ] || { echo "$0: needs the words \$job_id \$ja_task_id \$job_owner" >&2; exit 100; }
  exec /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin SGE_ROOT="$SGE_ROOT" SGE_CELL="$SGE_CELL" \
    SGE_ARCH="$SGE_ARCH" SGE_JOB_SPOOL_DIR="$SGE_JOB_SPOOL_DIR" /bin/sh "$0" "$@" clean
fi
# shellcheck disable=SC2034  # batch/common.sh reads it
system=gridengine
# shellcheck source=../batch/common.sh
. "$folder/../batch/common.sh"
# It comes from the settings: execd sets it for jobs only where it has it itself, and else the user
# could name a master of his own.
[ -z "${SGE_QMASTER_PORT:-}" ] || export SGE_QMASTER_PORT
: "${OUTBOARD_CLUSTER:?is not set; name this cluster in /etc/outboard/gridengine.env}"

# The name of this job's lease, if it has one. Only root can write here.
# shellcheck disable=SC2034  # the scripts use it
lease_file=$SGE_JOB_SPOOL_DIR/outboard_lease
