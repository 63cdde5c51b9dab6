"""Guarantees, cases, workloads, targets and the pytest plugin that puts a broker on trial."""
