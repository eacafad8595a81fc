"""Checks daemons with a key: the clients that they accept and refuse, and the messages of
programs."""

from __future__ import annotations

import argparse
import functools
import pathlib
import shutil
import signal
import subprocess
import tempfile

import harness
from harness import Bench, Daemon, Outcome, Suite, expect


def run(suite: Suite, server: str, key: pathlib.Path | None, *, plain: bool = False) -> Outcome:
    extra = {"OUTBOARD_KEY": str(key)} if key else {}
    if plain:
        extra["OUTBOARD_PLAIN"] = "1"
    return suite.bench.run(
        [suite.bench.program("e2e_poison"), "1", "60"], "remote", server, extra=extra
    )


def goes_out(suite: Suite, server: str, key: pathlib.Path | None, *, plain: bool = False) -> None:
    outcome = run(suite, server, key, plain=plain)
    outcome.expect_ok().expect_stderr_lines(0).expect_out({"dgemm": 1, "zpotrf": 1, "fftw*": 2})


def stays(suite: Suite, server: str, key: pathlib.Path | None, words: str) -> None:
    """Checks that answers are right, that all of them are computed locally, and that one line gives
    the reason."""
    outcome = run(suite, server, key)
    outcome.expect_ok().expect_stderr_lines(1).expect_none_out()
    expect(
        suite.bench.native or words in outcome.stderr,
        f"nothing about {words!r} in {outcome.stderr!r}",
    )


def with_key(suite: Suite, keys: pathlib.Path) -> None:
    good = keys / "good"
    refused = "this daemon takes only clients with its pool's key"
    cases = {
        "of another pool": ("stranger", "has no certificate of this key's pool"),
        "of a daemon": ("swapped", "opens no session"),
        "expired": ("expired", "alert"),
        "made by a member": ("upstart", "alert"),
        "whose certificate names no role": ("no_usage", "make it again with `outboard key add`"),
        "that others may read": ("readable", "chmod 600"),
        "that is not there": ("nothing", "cannot read"),
    }
    with Daemon(suite.bench, ["--key", str(good)]) as daemon:
        check = suite.check
        check("a key of the pool", lambda: goes_out(suite, daemon.tcp, good))
        check("only one side in plain", lambda: goes_out(suite, daemon.tcp, good, plain=True))
        check("a unix socket, no key", lambda: goes_out(suite, daemon.shm, None))
        check("a unix socket, a bad key", lambda: goes_out(suite, daemon.shm, keys / "nothing"))
        check("no key", lambda: stays(suite, daemon.tcp, None, refused))
        for what, (folder, words) in cases.items():
            body = functools.partial(stays, suite, daemon.tcp, keys / folder, words)
            check(f"a key {what}", body)
        check("good keys still get through", lambda: goes_out(suite, daemon.tcp, good))
    with Daemon(suite.bench, ["--key", str(good), "--plain"]) as daemon:
        suite.check("both in plain", lambda: goes_out(suite, daemon.tcp, good, plain=True))
        suite.check("the client encrypts", lambda: goes_out(suite, daemon.tcp, good))
        suite.check("plain is not open", lambda: stays(suite, daemon.tcp, None, refused))
    with Daemon(suite.bench) as daemon:
        words = "start the daemon with --key"
        suite.check("a daemon without", lambda: stays(suite, daemon.tcp, good, words))


def revoked(suite: Suite, keys: pathlib.Path) -> None:
    """Checks a daemon whose pool revokes a client while it runs, and a client with the list."""
    with tempfile.TemporaryDirectory(prefix="ob-key-") as name:
        folder = pathlib.Path(name) / "key"
        shutil.copytree(keys / "good", folder)
        with Daemon(suite.bench, ["--key", str(folder)]) as daemon:
            suite.check("not revoked yet", lambda: goes_out(suite, daemon.tcp, keys / "good"))
            shutil.copy(keys / "lists" / "client.crl", folder / "pool.crl")
            daemon.signal(signal.SIGHUP)
            words = "it was revoked"
            suite.check("revoked", lambda: until_stays(suite, daemon.tcp, keys / "good", words))
            suite.check("another client", lambda: goes_out(suite, daemon.tcp, keys / "other"))
            shutil.copy(keys / "lists" / "nobody.crl", folder / "pool.crl")
            daemon.signal(signal.SIGHUP)
            suite.check("an older list", lambda: stays(suite, daemon.tcp, keys / "good", words))
        shutil.copy(keys / "lists" / "daemon.crl", folder / "pool.crl")
        with Daemon(suite.bench, ["--key", str(keys / "good")]) as daemon:
            suite.check("a revoked daemon", lambda: stays(suite, daemon.tcp, folder, "is revoked"))
        shutil.copy(keys / "lists" / "garbage.crl", folder / "pool.crl")
        arguments = ["--key", str(folder)]
        suite.check("no list", lambda: refuses_to_start(suite.bench, arguments, "pool.crl"))


def until_stays(suite: Suite, server: str, key: pathlib.Path, words: str) -> None:
    """Checks stays(), which may hold only after some programs have run: the daemon reads a list
    while it serves."""
    for _ in range(50):
        if run(suite, server, key).stderr or suite.bench.native:
            break
    stays(suite, server, key, words)


def secret_of_the_pool(suite: Suite, keys: pathlib.Path) -> None:
    """Checks that a daemon warns if the pool's secret is on its machine."""
    with tempfile.TemporaryDirectory(prefix="ob-key-") as name:
        folder = pathlib.Path(name) / "key"
        shutil.copytree(keys / "good", folder)
        for there in (False, True):
            if there:
                (folder / "pool.key").touch()

            def warns(expected: bool = there) -> None:
                with Daemon(suite.bench, ["--key", str(folder)]) as daemon:
                    said = daemon.errors()
                expect(("outboard key export daemon" in said) == expected, said)

            suite.check(f"the pool's secret is {'' if there else 'not '}there", warns)


def over_ucx(suite: Suite, keys: pathlib.Path) -> None:
    """Checks a daemon over UCX. The control messages are authenticated, but the data is not
    encrypted, so both sides must have --plain."""
    good = keys / "good"
    options = ["--key", str(good), "--plain", "--listen", "ucx:127.0.0.1:0"]
    with Daemon(suite.bench, options) as daemon:
        address = daemon.others[0]
        for _ in range(3):  # the side that comes first in the handshake varies
            suite.check("ucx, both in plain", lambda: goes_out(suite, address, good, plain=True))
        suite.check("ucx, no plain", lambda: stays(suite, address, good, "unencrypted"))
        suite.check("ucx, no key", lambda: stays(suite, address, None, "cannot connect to ucx:"))
    not_plain = ["--key", str(good), "--listen", "ucx:127.0.0.1:0"]
    suite.check("not plain", lambda: refuses_to_start(suite.bench, not_plain, "unencrypted"))


def refuses_to_start(bench: Bench, arguments: list[str], words: str) -> None:
    done = subprocess.run(
        [str(bench.daemon), *arguments], capture_output=True, text=True, timeout=30, check=False
    )
    expect(done.returncode == 1 and words in done.stderr, f"{done.returncode}: {done.stderr!r}")


def starting(suite: Suite, keys: pathlib.Path) -> None:
    bench = suite.bench
    anywhere = ["--listen", "0.0.0.0:0"]
    cases = {
        "another address without a key": (anywhere, "outboard key init"),
        "plain without a key": (["--plain"], "--plain needs --key"),
        "a key that is not there": (["--key", "/nonexistent"], "cannot read"),
        "another's secret": (["--key", str(keys / "mixed_daemon")], "daemon.key"),
    }
    for what, (arguments, words) in cases.items():
        suite.check(what, functools.partial(refuses_to_start, bench, arguments, words))


def limited(suite: Suite) -> None:
    """Checks that a call which needs more memory than a session may have runs locally, with right
    answers."""
    with Daemon(suite.bench, ["--session-memory", "1MiB"]) as daemon:

        def large() -> None:
            # The orders are random. Among this number of solves, some need more. (Products would
            # run in tiles.)
            command = [suite.bench.program("e2e_survives"), "dgesv", "800", "12"]
            outcome = suite.bench.run(command, "remote", daemon.tcp)
            outcome.expect_ok().expect_stderr_lines(1)
            expect("--session-memory" in outcome.stderr, f"the reason lacks: {outcome.stderr!r}")

        suite.check("a call that needs more than a session may have", large)
        suite.check("one that needs less", lambda: goes_out(suite, daemon.tcp, None))


def security(suite: Suite) -> None:
    keys = suite.arguments.keys
    with_key(suite, keys)
    if suite.arguments.ucx:
        over_ucx(suite, keys)
    revoked(suite, keys)
    secret_of_the_pool(suite, keys)
    starting(suite, keys)
    limited(suite)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--keys", type=pathlib.Path, required=True)
    parser.add_argument("--ucx", action="store_true", help="over UCX, too")


if __name__ == "__main__":
    harness.main(Suite(__doc__, arguments), security)
