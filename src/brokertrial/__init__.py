"""Conformance and chaos testing for Kafka-compatible brokers: each room of the repository is a package in here."""
