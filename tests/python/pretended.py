"""A compiled stand-in for the drop-in library, and a BLAS that has one routine.

The stand-in explains calls by a simple model and leaves a profile when its process ends.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from needs import needs

# The local rate is 1 Gflop/s; the remote one is 10 Gflop/s after 1 ms. Only dgemm is known, with 2
# n^3 flop.
LIBRARY = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int outboard_explain(const char* routine, const char* sizes, char* text, size_t size) {
  if (strcmp(routine, "dgemm") != 0) {
    snprintf(text, size, "there is no routine '%s' (it is unknown)\n", routine);
    return 1;
  }
  const double n = atof(sizes);
  const double here = 2e-9 * n * n * n, there = 1e-3 + 2e-10 * n * n * n;
  const char* server = getenv("OUTBOARD_SERVER");
  const char* profile = getenv("OUTBOARD_PROFILE");
  snprintf(text, size,
           "choice %s\nwhy because\nserver %s\ndevice %s in mode %s\nlibrary %s\nflop %g\n"
           "local_s %g\nlocal_from profile\nremote_s %g\nprofile_library_written 86400\n",
           there < here ? "remote" : "local", server ? server : "", profile ? profile : "none",
           getenv("OUTBOARD_MODE"), getenv("LD_PRELOAD"), 2 * n * n * n, here, there);
  return 0;
}

static void __attribute__((destructor)) leave(void) {
  const char* folder = getenv("OUTBOARD_PROFILE");
  if (folder == NULL || getenv("OUTBOARD_LEARN") == NULL) return;
  char host[256], path[2048];
  gethostname(host, sizeof host);
  snprintf(path, sizeof path, "%s/%s", folder, host);
  mkdir(path, 0700);
  snprintf(path, sizeof path, "%s/%s/library-0123456789abcdef.profile", folder, host);
  FILE* file = fopen(path, "w");
  if (file == NULL) return;
  fprintf(file, "outboard-profile 1\nkey pretended 1 threads\nwritten %ld\n", (long)WRITTEN);
  fprintf(file, "local 1e6 1e-3 dgemm\n");
  fclose(file);
}
"""
BLAS = r"""
#include <unistd.h>
void dgemm_(void) { usleep(1000); }
"""
AFFIXED = "void scipy_dgemm_64_(void) {}"


def compiled(source: str, file: Path, *options: str) -> Path:
    """Compiles `source` to a shared library."""
    needs("cc", package="g++")
    command = ["cc", "-shared", "-fPIC", *options, "-o", str(file), "-x", "c", "-"]
    subprocess.run(command, input=source, text=True, check=True)
    return file


def install(environment: dict[str, str], written: str = "time(0)") -> dict[str, str]:
    """Returns `environment` of the fixture fake_native, with the stand-in as its library."""
    file = Path(environment["OUTBOARD_NATIVE_DIR"]) / "lib" / "liboutboard-preload.so"
    file.unlink()
    compiled("#include <time.h>\n" + LIBRARY, file, f"-DWRITTEN={written}")
    return environment
