"""Toxiproxy, which disturbs bytes: a server behind toxiproxy-python, and its proxies before the nodes of a target."""
