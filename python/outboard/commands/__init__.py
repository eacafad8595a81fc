"""The subcommands. Each has a module, whose variable `command` is the click command."""
