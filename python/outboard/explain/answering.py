"""The child process that asks the drop-in library with outboard_explain (outboard.h).

It is started as `python -m outboard.explain.answering` with the drop-in library in LD_PRELOAD. A
line of JSON on stdin, ["dgemm", "2000"], is answered by one on stdout, [status, text].
"""

from __future__ import annotations

import ctypes
import json
import signal
import sys

_TEXT_BYTES = 1 << 16
_PR_SET_PDEATHSIG = 1  # prctl(2)


def main() -> int:
    scope = ctypes.CDLL(None)
    scope.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if not hasattr(scope, "outboard_explain"):
        return 3
    text = ctypes.create_string_buffer(_TEXT_BYTES)
    for line in sys.stdin:
        routine, sizes = json.loads(line)
        status = scope.outboard_explain(
            routine.encode(), sizes.encode(), text, ctypes.c_size_t(_TEXT_BYTES)
        )
        print(json.dumps([status, text.value.decode(errors="replace")]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
