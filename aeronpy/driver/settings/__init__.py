"""How a driver is set up: options, their values, and what is asked of the system first."""
