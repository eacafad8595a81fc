"""Describes the accelerators, the fabrics and the kernel features of this machine that Outboard can
use."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import gzip
import os
import platform
import shutil
import socket
import struct
import subprocess
import sys
from pathlib import Path

from outboard.doctor.finding import Finding, note, ok

_TIMEOUT_S = 20.0
# This runs in a process of its own, because opening a driver starts threads, and a broken driver
# may end the process.
_ASK = """
import ctypes, sys
if sys.argv[1] == "ucx":
    ucp = ctypes.CDLL("libucp.so.0")
    ucp.ucp_get_version_string.restype = ctypes.c_char_p
    print(ucp.ucp_get_version_string().decode())
elif sys.argv[1] == "opencl":
    opencl = ctypes.CDLL("libOpenCL.so.1")
    number = ctypes.c_uint()
    opencl.clGetPlatformIDs(0, None, ctypes.byref(number))
    platforms = (ctypes.c_void_p * max(1, number.value))()
    opencl.clGetPlatformIDs(number, platforms, None)
    found = []
    for platform in platforms[:number.value]:
        text, count = ctypes.create_string_buffer(1024), ctypes.c_uint()
        opencl.clGetPlatformInfo(ctypes.c_void_p(platform), 0x0902, 1024, text, None)  # its name
        every = ctypes.c_ulong(0xFFFFFFFF)  # CL_DEVICE_TYPE_ALL
        opencl.clGetDeviceIDs(ctypes.c_void_p(platform), every, 0, None, ctypes.byref(count))
        found.append(f"{text.value.decode()}: {count.value} devices")
    print("; ".join(found) or "no platform")
else:
    cuda = ctypes.CDLL("libcuda.so.1")
    status, version, count = cuda.cuInit(0), ctypes.c_int(), ctypes.c_int()
    cuda.cuDriverGetVersion(ctypes.byref(version))
    if status == 0:
        cuda.cuDeviceGetCount(ctypes.byref(count))
    v = version.value
    print(f"driver for CUDA {v // 1000}.{v % 1000 // 10}, {count.value} devices"
          + (f" (cuInit: error {status})" if status else ""))
"""


def _output(*command: str) -> str | None:
    """Returns the standard output of `command`; None if it fails."""
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip()


def devices() -> list[Finding]:
    """Reports UCX, OpenCL and CUDA."""
    found = []
    version = _output(sys.executable, "-c", _ASK, "ucx")
    found.append(ok("UCX", f"libucp.so.0, {version}") if version else note("UCX", "not installed"))
    platforms = _output(sys.executable, "-c", _ASK, "opencl")
    found.append(_opencl(platforms))
    driver = _output(sys.executable, "-c", _ASK, "cuda")
    if driver is None:
        return [*found, note("CUDA", "no driver (libcuda.so.1): no GPU can be used here")]
    found.append(ok("CUDA", driver))
    if shutil.which("nvidia-smi"):
        names = _output("nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader")
        found += [ok("GPU", line) for line in (names or "").splitlines()]
    return found


def _opencl(platforms: str | None) -> Finding:
    if platforms is None:
        return note("OpenCL", "no loader (libOpenCL.so.1)")
    if platforms == "no platform":
        return note("OpenCL", "libOpenCL.so.1, and no platform: no vendor's driver is installed")
    return ok("OpenCL", platforms)


def kernel() -> list[Finding]:
    """Reports features of the kernel that some parts use if they are present."""
    return [
        ok("kernel", platform.release()),
        _memfd(),
        _shared_huge_pages(),
        _feature("page tracking", _pagemap_scan(), "PAGEMAP_SCAN (Linux 6.7 has it)"),
        _feature("userfaultfd", _userfaultfd(), "userfaultfd"),
        _feature("TLS in the kernel", _kernel_tls(), "the tls module"),
        *_shapers(),
    ]


def _feature(name: str, there: bool | None, what: str) -> Finding:
    if there is None:
        return note(name, f"{what}: cannot be tried here")
    return ok(name, f"{what}: there") if there else note(name, f"{what}: not there")


def _memfd() -> Finding:
    try:
        os.close(os.memfd_create("outboard-doctor"))
    except OSError as error:
        return note("memfd", f"cannot be made ({error.strerror}): unix sockets are of no use here")
    return ok("memfd", "there: unix sockets can share memory")


def _shared_huge_pages() -> Finding:
    name, file = "huge pages", Path("/sys/kernel/mm/transparent_hugepage/shmem_enabled")
    try:
        text = file.read_text()
    except OSError:
        return note(name, "the kernel has none for shared memory")
    chosen = text.partition("[")[2].partition("]")[0]
    if chosen in ("never", "deny"):
        advice = f"as root: echo advise > {file}"
        return note(name, f"shared memory gets none (shmem_enabled is {chosen})", advice)
    return ok(name, f"for shared memory: {chosen}")


def _ioctl_number(size: int) -> int:
    """Returns the number of PAGEMAP_SCAN: _IOWR('f', 16, struct pm_scan_arg), linux/fs.h."""
    return 3 << 30 | size << 16 | ord("f") << 8 | 16


def _pagemap_scan() -> bool | None:
    # The range is empty: size, flags, start, end, walk_end, vec, vec_len, max_pages, four masks.
    argument = struct.pack("<12Q", 96, *([0] * 11))
    try:
        with open("/proc/self/pagemap", "rb") as pagemap:
            fcntl.ioctl(pagemap, _ioctl_number(len(argument)), bytearray(argument))
    except OSError as error:
        return (
            False if error.errno == errno.ENOTTY else None if error.errno == errno.EACCES else True
        )
    return True


def _userfaultfd() -> bool | None:
    number = {"x86_64": 323, "aarch64": 282}.get(platform.machine())
    if number is None:
        return None
    user_mode_only = 1
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(number, os.O_CLOEXEC | user_mode_only)
    if descriptor < 0:
        return None if ctypes.get_errno() == errno.EPERM else False
    os.close(descriptor)
    return True


def _kernel_tls() -> bool | None:
    tcp_ulp = 31  # linux/tcp.h
    with socket.socket() as one:
        try:
            one.setsockopt(socket.IPPROTO_TCP, tcp_ulp, b"tls")
        except OSError as error:  # ENOTCONN: it exists, but this socket is not connected
            return {errno.ENOTCONN: True, errno.ENOENT: False}.get(error.errno or 0)
    return True


def _shapers() -> list[Finding]:
    """Reports the queueing disciplines that the links of `outboard bench` need."""
    try:
        text = gzip.decompress(Path("/proc/config.gz").read_bytes()).decode()
    except OSError:
        try:
            text = Path(f"/boot/config-{platform.release()}").read_text()
        except OSError:
            return []
    uses = {"TBF": "limits the rate of benchmarks' links", "NETEM": "delays what passes them"}
    return [
        _feature(name.lower(), f"CONFIG_NET_SCH_{name}=" in text, use) for name, use in uses.items()
    ]
