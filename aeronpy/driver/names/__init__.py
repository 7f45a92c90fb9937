"""How names of hosts become addresses (spec: network protocol, sections 2.3, 2.18 and 2.19)."""
