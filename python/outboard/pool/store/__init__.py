"""Where the manager's state is kept: SQLite, or memory for tests."""
