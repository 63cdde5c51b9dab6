"""For developers: where each case has passed on Apache Kafka, and what makes it fail."""
