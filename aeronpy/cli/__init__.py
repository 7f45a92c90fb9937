"""The `aeronpy` command: one subcommand per module."""
