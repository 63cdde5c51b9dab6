"""The gate: a run, the known failures, the last good run and a policy become one decision, told to the CI system."""
