"""A network of its own for the nodes of a target: Linux namespaces, packet rules, and a gateway into it."""
