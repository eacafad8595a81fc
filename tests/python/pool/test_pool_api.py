"""Random requests by the description of the interface: no answer of 500 or more, and none that the
description does not have. All stores."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from etcd_cluster import etcd_cluster
from pool_commands import fresh_seed
from pool_server import EVERYBODY, Manager, running

from outboard.pool.client import PoolClient
from outboard.pool.core import commands, replies
from outboard.pool.serve.problems import STATUS

CHECKS = (
    "not_a_server_error,response_schema_conformance,status_code_conformance,"
    "content_type_conformance"
)


def _impatient(node: Any) -> None:
    """Waits of half a minute would be most of the test."""
    if isinstance(node, dict):
        if node.get("name") == "wait_s":
            node["schema"]["maximum"] = 0.02
        for key, value in node.items():
            if key == "wait_s" and isinstance(value, dict):
                value["maximum"] = 0.02
                value["default"] = 0
            _impatient(value)
    elif isinstance(node, list):
        for value in node:
            _impatient(value)


# These exist when the requests begin, which end some of them, and make some again.
NAMES = {
    "/v1/leases/": ["held", "queued", "over"],
    "/v1/daemons/": ["n1"],
    "/v1/devices/": ["n1/0", "n1/1"],
    "/v1/quotas/": ["user:ada"],
    "/v1/reservations/": ["ours"],
    "/v1/bans/": ["mallory"],
}


def _prepare(client: PoolClient) -> None:
    for lease, body in (
        ("over", {}), ("held", {"count": 1, "ttl_s": 3600}), ("queued", {"count": 2}),
    ):  # fmt: skip
        client.ask("PUT", f"/v1/leases/{lease}", body)
        if lease == "over":
            client.ask("DELETE", "/v1/leases/over")
    client.ask("PUT", "/v1/quotas/user:ada", {"devices": 3})
    client.ask("PUT", "/v1/bans/mallory", {"reason": "a test"})
    window = {"count": 1, "users": ["ada"], "start_ms": 1 << 40, "end_ms": 1 << 41}
    client.ask("PUT", "/v1/reservations/ours", window)


def _of_what_exists(document: Any) -> None:
    """Random names find nothing, so half of the requests name something that exists."""
    for path, verbs in document["paths"].items():
        names = next((n for prefix, n in NAMES.items() if path.startswith(prefix)), None)
        for verb in verbs.values():
            for parameter in verb.get("parameters", []) if names else []:
                if parameter["in"] == "path":
                    of = NAMES["/v1/devices/"] if parameter["name"] == "device" else names
                    parameter["schema"] = {"anyOf": [{"enum": of}, parameter["schema"]]}


@pytest.mark.parametrize("store", ["sqlite", "memory", "etcd"])
def test_random_requests(tmp_path: Path, store: str) -> None:
    _try(tmp_path, store, "fuzzing", 3)


@pytest.mark.slow
@pytest.mark.parametrize("store", ["sqlite", "memory", "etcd"])
def test_more_random_requests(tmp_path: Path, store: str) -> None:
    _try(tmp_path, store, "coverage,fuzzing", 20)


def _try(tmp_path: Path, store: str, phases: str, examples: int) -> None:
    with contextlib.ExitStack() as stack:
        options: tuple[str, ...] = ()
        if store == "memory":
            options = ("--state", "memory:")
        elif store == "etcd":
            etcd = stack.enter_context(etcd_cluster(tmp_path / "etcd"))
            options = ("--state", etcd.address("api"), "--signing-keys", str(tmp_path / "keys"))
        _try_with(tmp_path, options, store, phases, examples)


def _try_with(
    tmp_path: Path, options: tuple[str, ...], store: str, phases: str, examples: int
) -> None:
    seed = fresh_seed()
    manager = Manager(tmp_path / "m", EVERYBODY, None, *options)
    while manager.client().raw("GET", "/readyz")[0] != 200:
        assert manager.process.poll() is None
        time.sleep(0.1)
    document = json.loads(manager.client().raw("GET", "/openapi.json")[1])
    _impatient(document)
    _of_what_exists(document)
    file = tmp_path / "openapi.json"
    file.write_text(json.dumps(document))
    program = Path(sys.executable).with_name("schemathesis")
    words = [str(program), "run", str(file), "--url", manager.url, "--checks", CHECKS]
    words += ["--max-examples", str(examples), "--seed", str(seed), "--exclude-path", "/v1/events"]
    words += ["--no-color", "--phases", phases, "--max-failures", "3"]
    if store == "memory":
        words += ["--exclude-path", "/v1/backup"]
    with running(manager.client(), "n1", devices=2):
        _prepare(manager.client())
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    manager.client().ask("GET", "/readyz")
    status = manager.stop()
    log = (tmp_path / "m" / "log").read_text()
    assert "Traceback" not in log, log
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert status == 0


def test_the_problems_of_the_core_are_described() -> None:
    """Statuses and names of problems in the core are those of the interface."""
    core = Path(commands.__file__).parent
    found = set()
    for file in core.glob("*.py"):
        found |= set(re.findall(r'Problem\(\s*(\d+),\s*"([a-z-]+)"', file.read_text()))
    assert len(found) > 8
    assert {(STATUS[name], name) for _, name in found} == {(int(s), name) for s, name in found}
    assert replies.Problem(404, "unknown", "").status == STATUS["unknown"]
