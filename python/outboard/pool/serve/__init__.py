"""The manager as a process: HTTP, TLS, long polls, and the thread that owns the state."""
