"""What `outboard doctor` looks at: each module has one group of checks and returns findings."""
