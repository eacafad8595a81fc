"""The checks of `outboard doctor`: each module has one group and returns findings."""
