"""Tests `outboard explain`: answers as text, the sizes that go out, and the library's messages."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import cast

import pytest

import pretended
from conftest import Outboard
from outboard.explain import answer, show
from outboard.explain.answer import Answer, Asker, parse

Environment = dict[str, str]
WHOLE = """choice remote
why the accelerator is expected to be faster
server node7:7770
device cuda NVIDIA H100
library openblas-pthread/libblas.so.3 SkylakeX 2 threads
flop 16000000000
bytes_to 64000000
bytes_from 32000000
overlaps 1
local_s 0.31
local_from profile
remote_s 0.031
remote_there_s 0.012
to_s 0.02
compute_s 0.005
from_s 0.01
fixed_s 0.0002
correction 1.25
waiting_s 0.004
local_error 1.1
remote_error 1.25
link_from profile
device_from observed
profile_library_written 1795305435
profile_server_written 1795305520
"""


def text_of(values: str) -> str:
    return "\n".join(show.block(parse("dgemm", "2000", values)))


def without(*keys: str) -> str:
    lines = [line for line in WHOLE.splitlines() if line.split()[0] not in keys]
    return "\n".join(lines)


def test_all_that_is_known() -> None:
    lines = text_of(WHOLE).splitlines()
    assert lines[0] == (
        "dgemm 2000: goes out to node7:7770; remote is expected to be 10 times faster"
    )
    text = "\n".join(lines)
    for words in (
        "why      the accelerator is expected to be faster",
        "work     16 Gflop, 61 MiB to the device, 30.5 MiB back",
        "library  openblas-pthread/libblas.so.3 SkylakeX 2 threads",
        "here     310 ms",
        "device   cuda NVIDIA H100",
        "remote   31 ms",
        "sending 20 ms, computing 5 ms, returning 10 ms, at the same time",
        "round trips 200 us, waiting for others 4 ms, times 1.25, as calls seen so far",
        "again    12 ms if its operands are on the device already",
        "here: the profile of 2026-11-2",
        "device: seen in this process; link: the profile of 2026-11-2",
    ):
        assert words in text, words
    assert "->" not in text, "nothing is to be done"


def test_what_is_not_known_is_not_said() -> None:
    text = text_of("choice local\nwhy no server can be reached\nflop 2e6\n")
    assert text.startswith("dgemm 2000: runs here\n")
    assert "here     -" in text
    assert "remote   -" in text
    assert "times" not in text
    assert "name one with --server" in text


def test_order_of_the_parts() -> None:
    assert "one after the other" in text_of(WHOLE.replace("overlaps 1", "overlaps 0"))
    assert "as calls seen so far" not in text_of(WHOLE.replace("correction 1.25", "correction 1"))
    slower = WHOLE.replace("remote_s 0.031", "remote_s 0.62").replace("e remote", "e local")
    assert "runs here; remote is expected to be 2 times slower" in text_of(slower)


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        (("profile_library_written", "profile_server_written"), "there are no profiles: `outboard"),
        (("profile_library_written",), "no profile of this library"),
        (("profile_server_written",), "no profile of this server: `outboard tune --server node7"),
    ],
)
def test_advice(missing: tuple[str, ...], words: str) -> None:
    assert words in text_of(without(*missing))


def test_dates_belong_to_the_right_profile() -> None:
    server = "link_from profile\ndevice_from told\nprofile_server_written 86400\nlocal_from profile"
    text = text_of(f"choice local\nserver a:1\nlocal_s 1\n{server}\n")
    assert f"link: the profile of {show.day(86400)}" in text
    assert "here: the profile;" in text, "its date is not known"
    assert "device: the daemon's own figure" in text


def test_several_make_a_table() -> None:
    answers = [parse("dgemm", n, WHOLE) for n in ("100", "m=5,n=7")]
    stream = io.StringIO()
    show.print_all(answers, "sizes that go out: from 740", stream)
    text = stream.getvalue()
    assert text.count("goes out") == 2
    assert "m=5,n=7" in text
    assert "sizes that go out: from 740" in text


def test_json_has_numbers() -> None:
    values = parse("dgemm", "2000", WHOLE).as_json()
    assert values["local_s"] == 0.31
    assert values["server"] == "node7:7770"
    assert values["sizes"] == "2000"


class Model:
    """Answers by a rule, and counts the questions."""

    def __init__(self, *ranges: range, unknown_from: int = 1 << 30) -> None:
        self._ranges = ranges
        self._unknown_from = unknown_from
        self.asked = 0

    def ask(self, routine: str, sizes: str) -> Answer:
        self.asked += 1
        n = int(sizes)
        out = any(n in r for r in self._ranges)
        known = "" if n >= self._unknown_from else "local_s 1\nremote_s 1\n"
        return parse(routine, sizes, f"choice {'remote' if out else 'local'}\n{known}")


SIZES = (100, 200, 400, 800, 1600)


def crossing(model: Model) -> str:
    return answer.crossing(cast("Asker", model), "dgemm", SIZES)


def test_crossing() -> None:
    assert crossing(Model()) == "never"
    assert crossing(Model(range(1, 10**9))) == "always"
    model = Model(range(741, 10**9))
    words, number = crossing(model).split()
    assert words == "from"
    assert 741 <= int(number) <= 741 * 1.1 + 1
    assert model.asked < 20
    assert crossing(Model(range(1, 201))) == "100 to 200"
    assert crossing(Model(range(150, 500))) == "200 to 400"
    assert crossing(Model(range(150, 250))) == "only 200"
    # small calls that are slow locally do not hide the crossing of the large ones
    assert crossing(Model(range(1, 150), range(500, 10**9))).split()[0] == "from"
    assert crossing(Model(unknown_from=0)) == ""
    assert crossing(Model(range(300, 10**9), unknown_from=1000)).startswith("from 3")


def test_the_library_is_asked(outboard: Outboard, fake_native: Environment) -> None:
    environment = pretended.install(fake_native) | {"OUTBOARD_SERVER": "a:1,b:2"}
    options = ["--profile", "profiles", "--library", "libm.so.6"]
    result = outboard("explain", *options, "dgemm", "1000", environment=environment)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].startswith("dgemm 1000: goes out to a:1,b:2; remote is expected to be")
    assert "/profiles in mode auto" in result.stdout
    assert "liboutboard-preload.so:libm.so.6" in result.stdout
    assert "here: the profile of 1970-01-0" in result.stdout


def test_sizes_make_a_table_and_json(outboard: Outboard, fake_native: Environment) -> None:
    environment = pretended.install(fake_native)
    sizes = ["50", "100", "400"]
    result = outboard("explain", "--server", "a:1", "dgemm", *sizes, environment=environment)
    assert result.returncode == 0, result.stderr
    # 2e-9 n^3 = 1e-3 + 2e-10 n^3 at n = 82
    found = int(result.stdout.split("sizes that go out: from ")[1].split()[0])
    assert 82 <= found <= 92
    result = outboard(
        "explain", "--json", "--server", "a:1", "dgemm", *sizes, environment=environment
    )
    content = json.loads(result.stdout)
    assert [c["choice"] for c in content["calls"]] == ["local", "remote", "remote"]
    assert content["calls"][2]["local_s"] == pytest.approx(0.128)


def test_errors_are_those_of_the_library(
    outboard: Outboard, fake_native: Environment, tmp_path: Path
) -> None:
    result = outboard("explain", "dgemm", "100", environment=fake_native)  # an empty library
    assert result.returncode == 1
    assert "explains nothing (it is older than this command)" in result.stderr
    environment = pretended.install(fake_native)
    result = outboard("explain", "fftw", "c2c", "64", environment=environment)
    assert result.returncode == 1
    assert result.stderr == "outboard: there is no routine 'fftw c2c' (it is unknown)\n"
    missing = str(tmp_path / "lib no.so")
    result = outboard("explain", "--library", missing, "dgemm", "9", environment=environment)
    assert result.returncode == 1
    assert f"there is no library {missing}" in result.stderr
