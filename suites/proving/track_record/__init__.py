"""For developers: bugs that released brokers had, and which cases find them."""
