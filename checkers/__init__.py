"""History to anomalies to verdict."""
