"""One module per subcommand; each has `command`."""
