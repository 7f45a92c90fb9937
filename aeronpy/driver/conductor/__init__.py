"""Who decides: commands of clients and events of the native core, and what is told back."""
