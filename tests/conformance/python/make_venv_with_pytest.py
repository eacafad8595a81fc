"""Makes the virtual environments of end_to_end once more, with what their test suites need."""

from __future__ import annotations

import sys

import make_venv

# Both packages' suites ask for these two, even where no test uses hypothesis.
RUNNER = ["pytest>=8,<10", "hypothesis>=6,<7"]

if __name__ == "__main__":
    make_venv.PACKAGES = {
        f"{name}_pytest": [*packages, *RUNNER] for name, packages in make_venv.PACKAGES.items()
    }
    sys.exit(make_venv.main())
