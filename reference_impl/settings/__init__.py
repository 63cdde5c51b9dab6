"""The settings of brokers and topics: Kafka's names, types and defaults, as tables."""
