# shellcheck shell=sh
# What PRE_EXEC and POST_EXEC share. Both run as root, with an environment that the job's user has
# chosen, so they start again with an empty one and the numbers of the job. The rest is in lsf.env.

if [ "${1:-}" != clean ]; then
  exec /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    LSB_JOBID="$LSB_JOBID" LSB_JOBINDEX="${LSB_JOBINDEX:-0}" \
    LSB_EXEC_RUSAGE="${LSB_EXEC_RUSAGE:-}" /bin/sh "$0" clean
fi
folder=${0%/*}
# shellcheck disable=SC2034  # batch/common.sh reads it
system=lsf
# shellcheck source=../batch/common.sh
. "$folder/../batch/common.sh"
PATH=$PATH:${LSF_BINDIR:?is not set; name the folder of bjobs in /etc/outboard/lsf.env}
export LSF_ENVDIR="${LSF_ENVDIR:-/etc}"
: "${OUTBOARD_CLUSTER:?is not set; name this cluster in /etc/outboard/lsf.env}"

# The variables of this job, for the starter. Only root can write here.
# shellcheck disable=SC2034  # the scripts use it
variables=/run/outboard/lsf/$LSB_JOBID.$LSB_JOBINDEX
