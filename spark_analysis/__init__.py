"""The same questions on Spark, for histories that do not fit one machine."""
