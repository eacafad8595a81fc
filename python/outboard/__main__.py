"""`python -m outboard`: the same command as `outboard`."""

from outboard.cli import main

if __name__ == "__main__":
    main()
