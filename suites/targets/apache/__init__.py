"""What the target `kafka:` is made of: jars, a JVM, settings, a formatted data folder."""
