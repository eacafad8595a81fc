"""The checks of `outboard doctor`. Each module has one group of checks and returns findings."""
