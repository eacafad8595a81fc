"""A pool in virtual time: the manager's core, gates, holders, and a network that fails."""
