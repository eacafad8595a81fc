"""Tests profiles: every line of a good file, damaged files, and the files that are removed."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from outboard import profile
from outboard.profile import Rate, Transfer, Whole

LIBRARY = """outboard-profile 1
key openblas-pthread/libblas.so.3 SkylakeX 2 threads
written 1795305435
local 1482910.4003789306 1.9392019305755277e-05 dgemm
local 11863283.203031445 0.00012181886502552859 dgemm
local 2000000 0.001 fftw c2c
"""
SERVER = """outboard-profile 1
key node7:7770 cuda NVIDIA H100 80GB
written 1795305520
link round_trip 3.8e-05
link to 4096 8.1e-05
link to 67108864 0.0227
link from 4096 6.2e-05
device 2e9 0.001 dgemm
device 1e6 2e-05 fftwf r2c
whole 2e9 0.03 0.025 dgemm
weather sunny
link colour blue
"""


def parse(text: str, name: str = "server-0123456789abcdef.profile") -> profile.Profile:
    return profile.parse(text, Path(name))


def test_library() -> None:
    one = parse(LIBRARY, "library-0123456789abcdef.profile")
    assert one.of_library
    assert one.key == "openblas-pthread/libblas.so.3 SkylakeX 2 threads"
    assert one.written == 1795305435
    assert [r.routine for r in one.local] == ["dgemm", "dgemm", "fftw c2c"]
    assert one.local[2] == Rate("fftw c2c", 2e6, 1e-3)
    assert one.local[2].gflops == pytest.approx(2.0)
    assert not one.device
    assert not one.whole


def test_server() -> None:
    one = parse(SERVER)
    assert not one.of_library
    assert one.server == ("node7:7770", "cuda NVIDIA H100 80GB")
    assert one.round_trip_s == 3.8e-5
    assert one.to == [Transfer(4096, 8.1e-5), Transfer(67108864, 0.0227)]
    assert one.back == [Transfer(4096, 6.2e-5)]
    assert one.device == [Rate("dgemm", 2e9, 1e-3), Rate("fftwf r2c", 1e6, 2e-5)]
    assert one.whole == [Whole("dgemm", 2e9, 0.03, 0.025)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "does not begin with"),
        ("outboard-profile 2\nkey a\n", "does not begin with"),
        ("outboard-profile 1\nlocal 1 1 dgemm\n", "names no key"),
        ("outboard-profile 1\nkey\n", "names no key"),
        (SERVER + "device 2e9 dgemm\n", "line 13: '2e9 dgemm' has 2 of 3 values"),
        (SERVER + "device 2e9 0.1\n", "line 13"),
        (SERVER + "device -1 0.1 dgemm\n", "'-1' is no number above zero"),
        (SERVER + "device 2e9 nan dgemm\n", "'nan' is no number"),
        (SERVER + "device inf 1 dgemm\n", "'inf' is no number"),
        (SERVER + "device 2e9 0 dgemm\n", "'0' is no number"),
        (SERVER + "whole 1 2 dgemm\n", "has 3 of 4"),
        (SERVER + "link to 4096\n", "has 1 of 2"),
        (SERVER + "link round_trip\n", "is no number"),
        (SERVER + "written yesterday\n", "'yesterday' is no number"),
        (SERVER[: SERVER.index("e-05\n") + 1], "line 4: '3.8e' is no number"),
    ],
)
def test_damaged(text: str, words: str) -> None:
    with pytest.raises(profile.DamagedError, match=words):
        parse(text)


def put(folder: Path, host: str, name: str, text: str) -> Path:
    file = folder / host / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_folder_with_good_and_damaged_files(tmp_path: Path) -> None:
    host = socket.gethostname()
    put(tmp_path, host, "library-0123456789abcdef.profile", LIBRARY)
    put(tmp_path, host, "server-0123456789abcdef.profile", "rubbish")
    put(tmp_path, host, "server-0123456789abcdef.profile.tmp4711", "half of one")
    put(tmp_path, "elsewhere", "server-0000000000000000.profile", SERVER)
    found, notes = profile.read_all(tmp_path)
    assert [p.key for p in found] == ["openblas-pthread/libblas.so.3 SkylakeX 2 threads"]
    (note,) = notes
    assert "server-0123456789abcdef.profile: does not begin with" in note
    assert "counts as absent" in note
    assert profile.read_all(tmp_path / "nothing") == ([], [])


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    file = put(tmp_path, socket.gethostname(), "server-0123456789abcdef.profile", "")
    file.write_bytes(b"outboard-profile 1\nkey \xff\xfe\n")
    found, notes = profile.read_all(tmp_path)
    assert found == []
    assert len(notes) == 1


def test_only_this_hosts_profiles_are_forgotten(tmp_path: Path) -> None:
    host = socket.gethostname()
    mine = [
        put(tmp_path, host, "library-0123456789abcdef.profile", LIBRARY),
        put(tmp_path, host, "server-0123456789abcdef.profile", "damaged"),
    ]
    kept = [
        put(tmp_path, "elsewhere", "server-0123456789abcdef.profile", SERVER),
        put(tmp_path, ".", "server-0123456789abcdef.profile", SERVER),
    ]
    assert profile.forget(tmp_path) == 2
    assert not any(file.exists() for file in mine)
    assert not (tmp_path / host).exists()
    assert all(file.exists() for file in kept)
    put(tmp_path, host, "library-0123456789abcdef.profile", LIBRARY)
    notes = put(tmp_path, host, "notes.txt", "somebody's")
    assert profile.forget(tmp_path) == 1
    assert notes.exists()
    assert profile.forget(tmp_path) == 0


def test_which_folder() -> None:
    home = {"HOME": "/home/ada"}
    assert profile.folder_in_use(None, home) == Path("/home/ada/.local/state/outboard/profiles")
    state = {**home, "XDG_STATE_HOME": "/state"}
    assert profile.folder_in_use(None, state) == Path("/state/outboard/profiles")
    chosen = {**state, "OUTBOARD_PROFILE": "/shared/profiles"}
    assert profile.folder_in_use(None, chosen) == Path("/shared/profiles")
    assert profile.folder_in_use("/mine", chosen) == Path("/mine")
    assert profile.folder_in_use(None, {**state, "OUTBOARD_PROFILE": "off"}) is None
