"""A trial: clients, faults, a final read and a verdict from the history alone."""
