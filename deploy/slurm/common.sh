# shellcheck shell=sh
# What the scripts for Slurm share: the licences and the names of leases.

folder=$(dirname -- "$(readlink -f -- "$0")")
# shellcheck disable=SC2034  # batch/common.sh reads it
system=slurm
# shellcheck source=../batch/common.sh
. "$folder/../batch/common.sh"

# licenses LIST: how many accelerators "matlab,accelerator:2" names; a name alone means one.
licenses() {
  count=0
  old_ifs=$IFS
  IFS=,
  for license in $1; do
    case $license in
      "${OUTBOARD_LICENSE:-accelerator}") count=1 ;;
      "${OUTBOARD_LICENSE:-accelerator}"[:*]*) count=${license##*[:*]} ;;
    esac
  done
  IFS=$old_ifs
  echo "$count"
}

# lease_id RESTARTS: the lease of this job after so many restarts. Names with a dot belong to the
# batch system, so nobody can take one before it.
lease_id() { echo "slurm.$SLURM_CLUSTER_NAME.$SLURM_JOB_ID.$1"; }
