"""The bundled broker: a process that speaks the Kafka protocol, quick to start and full of bugs to plant."""
