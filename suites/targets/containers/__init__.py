"""Brokers in containers, by testcontainers: an engine, its containers as nodes, images that are made here."""
