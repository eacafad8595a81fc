# shellcheck shell=sh
# What the scripts of the PBS hook share.

folder=${0%/*}
# shellcheck disable=SC2034  # batch/common.sh reads it
system=pbs
# shellcheck source=../batch/common.sh
. "$folder/../batch/common.sh"
