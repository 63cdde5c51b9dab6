"""One broker process: what it serves, its chores, its place in the cluster."""
