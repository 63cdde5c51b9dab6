"""Disturbances of a broker on trial: message faults made by a Kafka-aware proxy, process faults, schedules of both."""
