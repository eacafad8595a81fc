"""Settings of MPI that let messages leave before their receiver has asked for them."""

from __future__ import annotations

from collections.abc import Mapping

# Open MPI sets memory aside for eight messages of this size over TCP.
MOST_BYTES = 64 << 20

# Of MPICH over UCX, and of Open MPI over TCP. Each ignores the other's.
_VARIABLES = ("UCX_RNDV_THRESH", "OMPI_MCA_btl_tcp_eager_limit")


def variables(size: int, environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables for messages of up to `size` bytes. Those that are set stay."""
    return {name: environment.get(name, str(size)) for name in _VARIABLES}
