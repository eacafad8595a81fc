"""The manager of a pool of accelerators (docs/pool.md)."""
