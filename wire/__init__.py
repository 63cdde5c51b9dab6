"""The Kafka protocol: schema tables, codec, record batches, a raw client. Knows nothing of the rest of the project."""
