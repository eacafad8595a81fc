"""Makes the virtual environments of end_to_end again, with the packages that their test suites
need, and one with pyFFTW."""

from __future__ import annotations

import sys

import make_venv

# The packages' suites need these two, even if no test uses hypothesis.
RUNNER = ["pytest>=8,<10", "hypothesis>=6,<7"]
PYFFTW = "pyfftw==0.15.1"  # its tests come from the sources of the same version

if __name__ == "__main__":
    packages = {**make_venv.PACKAGES, "pyfftw": [*make_venv.PACKAGES["numpy2"], PYFFTW]}
    make_venv.PACKAGES = {f"{name}_pytest": [*what, *RUNNER] for name, what in packages.items()}
    sys.exit(make_venv.main())
