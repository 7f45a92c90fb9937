"""Channels as sockets need them: addresses, ports, who shares a socket."""
