"""Settings of MPI that let messages leave before their receiver has asked for them."""

from __future__ import annotations

from collections.abc import Mapping

LEAST_BYTES = 64 << 10  # the limit that Open MPI has over TCP by itself
MOST_BYTES = 64 << 20  # Open MPI sets memory aside for eight such messages

_HEADERS = 1024  # Open MPI counts its own, and UCX asks from the threshold on
# Of UCX, which MPICH uses, and of Open MPI over TCP.
_VARIABLES = ("UCX_RNDV_THRESH", "OMPI_MCA_btl_tcp_eager_limit")


def variables(size: int, environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables for messages of up to `size` bytes. Those that are set stay."""
    return {name: environment.get(name, str(size + _HEADERS)) for name in _VARIABLES}
