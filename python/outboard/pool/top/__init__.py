"""`outboard top`: a live view of a pool in the terminal. It needs textual."""
