"""Leases in the device API: real managers, daemons and programs."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pool_daemon import PATIENCE_S, Daemon, until
from pool_server import EVERYBODY, Manager, make_keys

from conftest import clean_environment
from outboard import paths
from outboard.pool.client import PoolClient

pytestmark = pytest.mark.end_to_end

# Each program begins with this. Small whole numbers are exact; integers are multiplied by no BLAS.
BEGIN = """
import sys, numpy as np
from outboard import device

def product(one):
    whole = np.arange(60 * 60).reshape(60, 60) % 11
    a = one.array(whole.astype(float))
    assert ((a @ a).numpy() == whole @ whole).all(), "a wrong product"

def expect(*kinds):
    class Catch:
        def __enter__(self): pass
        def __exit__(self, kind, error, trace):
            assert kind is not None and issubclass(kind, kinds), (kind, error)
            print("refused:", error, flush=True)
            return True
    return Catch()

"""


class Pool:
    """A manager, and a daemon of two devices."""

    def __init__(self, folder: Path, native: paths.Native, with_keys: bool = False) -> None:
        made = make_keys(folder / "keys") if with_keys else {}
        self.manager = Manager(folder / "m", "" if made else EVERYBODY, made.get("m1"))
        options = ("--key", str(made["n1"])) if made else ()
        self.daemon = Daemon(native, "n1", "--pool", self.manager.url, "--devices", "2", *options)
        self.client: PoolClient = self.manager.local()
        self.holder = PoolClient(self.manager.url, made.get("ada"))
        self.environment = clean_environment(
            OUTBOARD_NATIVE_DIR=str(native.root),
            OUTBOARD_POOL=self.manager.url,
            **({"OUTBOARD_KEY": str(made["ada"])} if made else {}),
        )
        self.wait_until_free()

    def wait_until_free(self) -> None:
        for number in range(2):
            self.daemon.wait_until_free(self.client, number)

    def start(self, program: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", BEGIN + program],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=self.environment,
        )  # fmt: skip

    def run(self, program: str) -> str:
        process = self.start(program)
        out, error = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, error
        return out

    def held(self) -> list[str]:
        rows = self.client.pages("/v1/leases", "leases")
        return [row["id"] for row in rows if row["state"] == "held"]

    def stop(self) -> None:
        self.wait_until_free()  # nothing is left over
        self.daemon.stop()
        assert self.manager.stop() == 0


@pytest.fixture
def pool(tmp_path: Path, native: paths.Native) -> Iterator[Pool]:
    made = Pool(tmp_path, native)
    yield made
    made.stop()


def read_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def write_line(process: subprocess.Popen[str], text: str = "") -> None:
    assert process.stdin is not None
    process.stdin.write(text + "\n")
    process.stdin.flush()


@pytest.mark.parametrize("with_keys", [False, True])
def test_devices_of_a_lease(with_keys: bool, tmp_path: Path, native: paths.Native) -> None:
    pool = Pool(tmp_path, native, with_keys)
    pool.run("""
with device.Lease(device.Request(count=2, exclusive=True, wait_s=20)) as lease:
    assert len(lease.devices) == 2
    for one in lease.devices:
        product(one)
    assert lease.devices[0] is lease.devices[0]
    with expect(device.UnsupportedError):
        device.Lease(device.Request(kind="gpu"))
    with expect(device.BusyError):
        device.Lease(device.Request(count=1))
one = lease.devices
assert one == []
""")
    assert not pool.held()
    pool.stop()


def test_a_lease_without_commands_is_kept(pool: Pool) -> None:
    """Its holder computes elsewhere for longer than the lease time."""
    pool.run("""
import time
seen = []
with device.Lease(device.Request(exclusive=True, wait_s=20, seconds=6)) as lease:
    lease.watch(lambda what, one: seen.append(what))
    time.sleep(15)
    assert seen == [], seen
    first, = lease.devices
    product(first)
""")


def test_a_lease_is_kept_while_its_daemon_stands_still(pool: Pool) -> None:
    """Nobody but the holder itself can tell the manager that it is alive."""
    process = pool.start("""
lease = device.Lease(device.Request(exclusive=True, wait_s=20, seconds=6))
print("held", flush=True)
sys.stdin.readline()
lease.close()
""")
    assert read_line(process) == "held\n"
    pool.daemon.process.send_signal(signal.SIGSTOP)
    try:
        time.sleep(13)
        assert len(pool.held()) == 1
    finally:
        pool.daemon.process.send_signal(signal.SIGCONT)
    write_line(process)
    assert process.wait(PATIENCE_S) == 0


def test_a_lease_grows_and_shrinks(pool: Pool) -> None:
    pool.run("""
seen = []
lease = device.Lease(device.Request(exclusive=True, wait_s=20))
lease.watch(lambda what, one: seen.append((what, one)))
first, = lease.devices
product(first)
lease.grow()
assert len(lease.devices) == 2
product(lease.devices[1])
with expect(device.BusyError):
    lease.grow(1, wait_s=0)
with expect(device.UnsupportedError):
    lease.grow(3)
second = lease.devices[1]
lease.shrink(first)
assert lease.devices == [second]
with expect(device.InvalidArgumentError):
    product(first)
with expect(device.InvalidArgumentError):
    lease.shrink(first)
product(second)
lease.grow(1, wait_s=20)
product(lease.devices[1])
given = [one for what, one in seen if what == "given"]
lease.close()
assert given[0] is second and len(given) == 2, seen
""")


def test_shares_of_one_device(pool: Pool) -> None:
    pool.run("""
whole = device.Lease(device.Request(exclusive=True, wait_s=20))
halves = [device.Lease(device.Request(share_percent=50, memory_bytes=1 << 20, wait_s=20))
          for _ in range(2)]
for half in halves:
    product(half.devices[0])
with expect(device.BusyError):
    device.Lease(device.Request(share_percent=50))
for lease in halves + [whole]:
    lease.close()
""")


def test_a_program_hears_of_what_it_loses(pool: Pool) -> None:
    process = pool.start("""
lease = device.Lease(device.Request(exclusive=True, wait_s=20, seconds=6))
one, = lease.devices
lease.watch(lambda what, which: print(what, which is one, flush=True))
product(one)
print("ready", flush=True)
sys.stdin.readline()
with expect(device.FencedError):
    product(one)
assert lease.devices == []
lease.close()
print("closed", flush=True)
""")
    assert read_line(process) == "ready\n"
    (held,) = pool.held()
    pool.client.ask("DELETE", f"/v1/leases/{held}")
    assert read_line(process) == "taken True\n"
    assert read_line(process) == "gone False\n"
    write_line(process)
    out, error = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, error
    assert out.endswith("closed\n")


def test_the_end_of_a_lease_ends_its_grants(pool: Pool) -> None:
    owner = pool.start("""
lease = device.Lease(device.Request(exclusive=True, wait_s=20))
one, = lease.devices
array = one.array(np.arange(8.0))
grant = device.Grant(array, read=True, write=True)
product(one)  # the array has arrived
print(grant.address, flush=True)
sys.stdin.readline()
""")
    address = read_line(owner).strip()
    (held,) = pool.held()
    other = pool.start(f"""
lease = device.Lease(device.Request(exclusive=True, wait_s=20))
one, = lease.devices
with one.queue() as queue:
    here = one.array(np.zeros(8), queue=queue)
    device.get(queue, "{address}", here)
    queue.synchronize()
    assert (here.numpy() == np.arange(8.0)).all(), "what was got"
    print("got", flush=True)
    sys.stdin.readline()
    for use in (device.get, device.put):
        with expect(device.DeviceError):
            while True:  # the daemon ends the session a moment later
                use(queue, "{address}", here)
                queue.synchronize()
""")
    assert read_line(other) == "got\n"
    pool.client.ask("DELETE", f"/v1/leases/{held}")
    write_line(other)
    out, error = other.communicate(timeout=PATIENCE_S)
    assert other.returncode == 0, error
    assert out.count("refused:") == 2 and "grant" in out
    owner.communicate("\n", timeout=PATIENCE_S)


def test_a_lease_is_renewed_and_warned_about(pool: Pool) -> None:
    process = pool.start("""
lease = device.Lease(device.Request(exclusive=True, wait_s=20, seconds=6))
lease.watch(lambda what, which: print(what, flush=True))
print("ready", flush=True)
sys.stdin.readline()
lease.close()
""")
    assert read_line(process) == "ready\n"
    (held,) = pool.held()
    end_ms = [pool.holder.ask("GET", "/v1/leases")["leases"][0]["end_ms"]]
    until(
        lambda: pool.client.pages("/v1/leases", "leases")[0]["end_ms"] > end_ms[0] + 5000,
        "it was renewed",
    )
    pool.manager.kill()
    assert read_line(process) == "expires\n"
    pool.manager.start()
    pool.client = pool.manager.local()
    until(lambda: pool.held() == [held], "it lives")
    write_line(process)
    _, error = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, error
    until(lambda: not pool.held(), "it was given back")


@pytest.mark.parametrize(
    "how", ["", "sys.exit(3)", "import os, signal; os.kill(0, signal.SIGKILL)"]
)
def test_however_the_program_ends(how: str, pool: Pool) -> None:
    program = f"""
import os
os.setpgid(0, 0)
lease = device.Lease(device.Request(count=2, exclusive=True, wait_s=20, seconds=6))
product(lease.devices[0])
if os.fork() == 0:  # a child has no lease of its parent, and gives none back
    with expect(device.DeviceError):
        lease.grow(1, wait_s=0)
    sys.exit()
os.wait()
assert len(lease.devices) == 2
product(lease.devices[1])
{how}
"""
    process = pool.start(program)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == {"": 0, "sys.exit(3)": 3}.get(how, -9)
    if "kill" not in how:
        until(lambda: not pool.held(), "it was given back", 3)
    pool.wait_until_free()


def test_the_garbage_collector_gives_leases_back(pool: Pool) -> None:
    pool.run("""
import gc
for _ in range(3):
    lease = device.Lease(device.Request(count=2, exclusive=True, wait_s=20))
    lease.watch(lambda what, one: None)
    lease.watch(lambda what, one: None)
    product(lease.devices[1])
    del lease
    gc.collect()
""")
