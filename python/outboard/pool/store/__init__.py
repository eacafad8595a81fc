"""Where the manager's state is kept: SQLite, etcd, or memory for tests."""
