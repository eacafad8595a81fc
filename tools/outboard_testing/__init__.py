"""The runner of `outboard test`: checks of the sources, ctest, and pytest."""
