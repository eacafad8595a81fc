"""What `outboard test` runs: checks of the sources, ctest, and pytest."""
