"""The units and the commands of docs/operations.md, on a real systemd, in a container, with the
keys of docs/pool.md.

With OUTBOARD_TEST_SYSTEMD=1 only: it takes a minute, and needs root, systemd-container, overlay
file systems and Prometheus. What the script prints is the oracle: it ends at the first failure.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from booted import boot, is_possible

from conftest import ROOT
from outboard import paths

pytestmark = [
    pytest.mark.end_to_end,
    pytest.mark.slow,
    pytest.mark.skipif(
        "OUTBOARD_TEST_SYSTEMD" not in os.environ, reason="set OUTBOARD_TEST_SYSTEMD=1"
    ),
]

WAIT = r"""
free() { for i in $(seq 300); do
  outboard pool status --json | grep -q '"allocation": "free"' && return; sleep 0.2; done; false; }
answers() { for i in $(seq 300); do
  outboard pool status > /dev/null && return; sleep 0.2; done; false; }
refused() { if "$@"; then false; fi; }
main() { systemctl show -p MainPID --value "$1"; }
other() { for i in $(seq 100); do sleep 0.2; now=$(main "$1")
  [ "$now" != 0 ] && [ "$now" != "$2" ] && systemctl -q is-active "$1" && return; done; false; }
ada() { OUTBOARD_POOL=https://127.0.0.1:7780 OUTBOARD_KEY=/srv/keys/ada "$@"; }
mallory() { OUTBOARD_POOL=https://127.0.0.1:7780 OUTBOARD_KEY=/srv/keys/mallory "$@"; }
compute() { ada outboard run --accelerators 1 --wait 60s --require --mode remote \
  --report json:/out/report -- python3 -c 'import numpy as n
a = n.arange(40000).reshape(200, 200) % 13
assert (a.astype(float) @ a.astype(float) == a @ a).all()'
  grep '"remote": 1' /out/report; free; }
"""


def block(text: str, *leave_out: str, page: str = "operations.md") -> str:
    """Returns the commands of the block of the page with `text`, without some lines."""
    whole = (ROOT / "docs" / page).read_text()
    blocks = re.findall(r"(?:^    .*\n|^\n(?=    ))+", whole, re.MULTILINE)
    (found,) = (one for one in blocks if text in one)
    lines = [line[4:] for line in found.splitlines()]
    return "\n".join(line for line in lines if not any(word in line for word in leave_out)) + "\n"


def script() -> str:
    install = block("outboard-pool-backup.timer")
    daemon = block("chown -R outboard:").replace(
        "systemctl enable", "sed -i s/pool.example.org/127.0.0.1/ /etc/outboard/daemon.env\n"
        "systemctl enable"
    )  # fmt: skip
    keys = block("outboard key add manager m1", page="pool.md")
    keys = keys.replace("pool.example.org", "127.0.0.1")
    keys += "outboard key add client mallory --pool ~/pool --to keys/mallory\n"
    return (
        # The folder of a reader, who has a checkout and the keys in it.
        f"{WAIT}cp -r {ROOT}/deploy /srv/deploy; cd /srv\n{keys}{install}{daemon}"
        "systemctl is-active outboard-pool outboardd outboard-pool-backup.timer\n"
        "export OUTBOARD_POOL=unix:/run/outboard/pool.sock\nfree; compute\n"
        "curl -sS --unix-socket /run/outboard/pool.sock http://localhost/metrics"
        " | grep '^process_start_time_seconds'\n"
        # SIGKILL of both; a reload is no restart.
        "old=$(main outboard-pool); kill -9 $old; other outboard-pool $old\n"
        "old=$(main outboardd); systemctl reload outboardd; [ $old = $(main outboardd) ]\n"
        "kill -9 $old; other outboardd $old; free; compute\n"
        "grep -E 'CapEff:.0+$' /proc/$(main outboardd)/status /proc/$(main outboard-pool)/status\n"
        # A backup with a lease, which is there again.
        "ada outboard pool acquire --id kept --ttl 10m\n"
        + block("systemctl start outboard-pool-backup")
        + "answers; outboard pool status | grep kept; outboard pool release kept; free\n"
        + block("about 1 s; leases")
        + "free\n"
        + block("outboard pool drain node7 --deadline 10m")
        + "free; compute\nmallory outboard pool status\n"
        + block("outboard key revoke mallory")
        + "refused mallory outboard pool acquire; cp ~/pool/pool.crl .\n"
        + block("install -m 644 pool.crl /etc/outboard/keys/daemon/")
        + "answers; refused mallory outboard pool status; ada outboard pool status; free\n"
        + block("outboard pool why node7/0", "--follow", "node8", "mallory")
        + "free; compute\nsystemctl stop outboardd outboard-pool\n"
        "systemctl show -p Result outboardd | grep success\n"
        # Status 4 is not restarted.
        "mkdir -p /run/systemd/system/outboard-pool.service.d\n"
        "printf '[Service]\\nType=exec\\nExecStart=\\nExecStart=/bin/sh -c \"exit 4\"\\n'"
        " > /run/systemd/system/outboard-pool.service.d/x.conf\n"
        "systemctl daemon-reload; systemctl start outboard-pool; sleep 3\n"
        "systemctl show -p NRestarts outboard-pool | grep =0\n"
        "systemctl is-failed outboard-pool\n"
    )


def test_the_units_and_the_page_on_a_real_systemd(tmp_path: Path, native: paths.Native) -> None:
    assert is_possible(), "needs root, systemd-nspawn and unshare"
    log = boot(tmp_path, native.root.resolve(), ROOT, script())
    assert log.endswith("all is well\n"), log[-6000:]
