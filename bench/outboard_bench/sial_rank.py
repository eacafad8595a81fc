"""`python sial_rank.py FOLDER PROGRAM ARGUMENT...`: runs a rank of an MPI program, and writes the
most memory that it had [bytes] into the file FOLDER/RANK."""

import os
import sys


def main(folder: str, command: list[str]) -> int:
    child = os.fork()
    if child == 0:
        os.execv(command[0], command)
    _, status, usage = os.wait4(child, 0)
    rank = next(
        (os.environ[name] for name in ("PMI_RANK", "OMPI_COMM_WORLD_RANK") if name in os.environ),
        "0",
    )
    with open(os.path.join(folder, rank), "w") as file:
        file.write(str(usage.ru_maxrss << 10))
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
