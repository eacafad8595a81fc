"""Boots this machine's system in a container of systemd-nspawn, whose writes are lost.

The root is an overlay with a tmpfs above it, /tmp is private, and there is no network but loopback:
systemd at its start empties /tmp and changes /etc, which must not be those of this machine.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

# Python may lie below a home folder, which the units hide.
_PYTHON = "/opt/outboard-test-python"
_TIME_LIMIT_S = 400

_ENTER = r"""
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs "$1"
cd "$1"
mkdir upper work root
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" root
mkdir -p root/out root@python@
install -m 755 "$2/driver" root/usr/local/bin/outboard-test
install -m 755 "$2/outboard" "$2/python3" root/usr/local/bin
cat > root/etc/systemd/system/outboard-test.service <<'X'
[Unit]
After=basic.target
SuccessAction=poweroff-force
FailureAction=poweroff-force
[Service]
Type=oneshot
ExecStart=/usr/local/bin/outboard-test
X
printf '[Unit]\nRequires=basic.target\nWants=outboard-test.service\nAfter=basic.target\n' \
    > root/etc/systemd/system/outboard-test.target
exec systemd-nspawn --quiet --register=no --keep-unit --private-network --machine=outboard-test \
    --directory=root --bind="$2:/out" --bind-ro="@base@:@python@" --boot -- \
    --unit=outboard-test.target
"""


def is_possible() -> bool:
    programs = ("systemd-nspawn", "unshare", "systemd-sysusers")
    return os.geteuid() == 0 and all(shutil.which(program) for program in programs)


def boot(folder: Path, native: Path, source: Path, script: str) -> str:
    """Runs `script` as a service in the container, with `outboard` and `python3` on its PATH, and
    `folder` as /out. Returns what it printed."""
    python = f"{_PYTHON}/bin/python{sys.version_info.major}.{sys.version_info.minor}"
    modules = ":".join(path for path in sys.path if path.endswith("site-packages"))
    start = f"export LD_LIBRARY_PATH={_PYTHON}/lib PYTHONPATH={source / 'python'}:{modules}\n"
    outboard = f"#!/bin/sh\n{start}export OUTBOARD_NATIVE_DIR={native}\nexec {python} -m outboard"
    (folder / "outboard").write_text(outboard + ' "$@"\n')
    (folder / "python3").write_text(f'#!/bin/sh\n{start}exec {python} "$@"\n')
    head = "#!/bin/bash\nexec >/out/log 2>&1\nset -ex\nexport HOME=/root\n"
    head += "export PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin\n"
    head += "trap 'journalctl -u outboard-pool -u outboardd --no-pager' ERR\n"
    (folder / "driver").write_text(head + script + "\necho all is well\n")
    (folder / "root").mkdir()
    enter = _ENTER.replace("@python@", _PYTHON).replace("@base@", sys.base_prefix)
    words = ["unshare", "--mount", "--pid", "--mount-proc", "--fork", "--kill-child"]
    words += ["sh", "-c", enter, "sh", str(folder / "root"), str(folder)]
    with open(folder / "console", "wb") as console:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=console, stderr=console, start_new_session=True
        )
        try:
            process.wait(_TIME_LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    log = folder / "log"
    return log.read_text() if log.exists() else (folder / "console").read_text(errors="replace")
