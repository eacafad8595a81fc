"""The tables of PROXY (IV.1 to IV.9) as runs of the example redblack3d."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Kernel:
    """The update alone, by the number of threads."""

    edges: tuple[int, ...]


@dataclass(frozen=True)
class Node:
    """One node: a process with two threads beside two processes that exchange."""

    edges: tuple[int, ...]


@dataclass(frozen=True)
class Ranks:
    """Two ranks of one core with a link between them. At `edge` the link has 1 Gb/s."""

    edge: int
    modes: tuple[str, ...]


@dataclass(frozen=True)
class Variant:
    """A variant of the paper in kept time: a mode of the library, and how long a node relaxes."""

    name: str
    mode: str
    relax_ms: float


@dataclass(frozen=True)
class Kept:
    """Nodes that this machine does not have. Two of them are here, each as a process that sleeps
    while its node relaxes, with a link on which the halo takes `halo_ms` of an iteration."""

    label: str
    halo_ms: float
    variants: tuple[Variant, ...]


Run = Kernel | Node | Ranks | Kept

_BLUE_HORIZON = (120, 240, 320, 360, 400, 480)
_LEMIEUX = (304, 360, 424, 456, 480)
_BOTH = ("sync", "shared", "ticked")

# The halo takes what the synchronous iteration of the table takes beside its relaxation: 738 - 557,
# 775 - 558 and 1034 - 885 ms.
TABLES: Mapping[str, tuple[Run, ...]] = {
    "IV.1": (Ranks(400, ("sync", "async", "shared", "ticked")),),
    "IV.2": (Kernel((240, 360, 480)),),
    "IV.3": (Node(_BLUE_HORIZON),),
    "IV.4": (
        Ranks(800, _BOTH),
        Kept("8 nodes", 181, (Variant("sync", "sync", 557), Variant("proxy", "proxy", 606))),
    ),
    "IV.5": (
        Kept(
            "16 nodes",
            217,
            (
                Variant("sync", "sync", 558),
                Variant("proxy", "proxy", 740),
                Variant("multi-tier", "sync", 704),
            ),
        ),
    ),
    "IV.6": (Kernel((240, 360, 480)),),
    "IV.7": (Node(_LEMIEUX),),
    # The text says that the relaxation takes about 10 % more with the proxy.
    "IV.8": (
        Ranks(800, ("sync", "async", "shared", "ticked")),
        Kept(
            "8 nodes",
            149,
            (
                Variant("sync", "sync", 885),
                Variant("async", "async", 885),
                Variant("proxy", "proxy", 974),
            ),
        ),
    ),
    # The figures are not in the text. Relaxation: IV.7 at 304 and 456, with one thread less as in
    # IV.6 (5.69 / 5.00 and 13.40 / 12.01). Halo: that of IV.8 by the faces, (304 / 400)^2 and
    # (456 / 400)^2.
    "IV.9": (
        Ranks(768, _BOTH),
        Kept("768", 86, (Variant("sync", "sync", 350), Variant("proxy", "proxy", 410))),
        Kept("1152", 194, (Variant("sync", "sync", 1210), Variant("proxy", "proxy", 1462))),
    ),
}
