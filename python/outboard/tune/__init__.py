"""`outboard tune`: measures links, devices and the local library."""
