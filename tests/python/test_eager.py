"""Tests `outboard run --eager`: messages that leave before their receiver asks for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Outboard, clean_environment
from outboard import paths
from test_overlap_programs import LAUNCHER, Programs, job, programs  # noqa: F401

OVER_TCP = {"OMPI_MCA_btl": "self,tcp", "UCX_TLS": "self,tcp"}
PRINT = 'echo "$UCX_RNDV_THRESH $OMPI_MCA_btl_tcp_eager_limit"'


@pytest.mark.end_to_end
@pytest.mark.parametrize(
    ("options", "own", "expected"),
    [
        ((), {}, "asked for"),
        (("--eager", "256K"), {}, "early"),  # exactly the message
        (("--eager", "100K"), {}, "asked for"),
        (("--eager", "1M"), {"UCX_RNDV_THRESH": "100k", "OMPI_MCA_btl_tcp_eager_limit": "99999"},
         "asked for"),
    ],
)  # fmt: skip
def test_messages_leave_before_they_are_asked_for(
    outboard: Outboard, native: paths.Native, programs: Programs, tmp_path: Path,  # noqa: F811
    options: tuple[str, ...], own: dict[str, str], expected: str,
) -> None:  # fmt: skip
    # The buffers of the sockets take this while the receiver is outside of MPI.
    seconds = "20" if expected == "early" else "1"  # a busy machine may need some
    words = job(programs, 2, programs.program("early.c"), str(256 << 10), tmp_path / "go", seconds)
    environment = clean_environment(
        **{**LAUNCHER, **OVER_TCP}, **own, OUTBOARD_NATIVE_DIR=str(native.root)
    )
    done = outboard("run", "--mode", "off", *options, "--", *words, environment=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{expected}\n"


def test_what_the_user_has_set_stays(outboard: Outboard, fake_native: dict[str, str]) -> None:
    def printed(*words: str, **own: str) -> str:
        done = outboard(
            "run", "--mode", "off", *words, "--", "sh", "-c", PRINT,
            environment={**fake_native, **own},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert printed() == " \n"
    assert printed("--eager", "8M") == f"{(8 << 20) + 1024} {(8 << 20) + 1024}\n"
    assert printed("--eager=64M", UCX_RNDV_THRESH="inf") == f"inf {(64 << 20) + 1024}\n"


@pytest.mark.parametrize("size", ["65M", "63K", "0", "-1", "x"])
def test_a_wrong_size(outboard: Outboard, fake_native: dict[str, str], size: str) -> None:
    done = outboard("run", "--eager", size, "--", "true", environment=fake_native)
    assert done.returncode == 2
    assert "--eager" in done.stderr
