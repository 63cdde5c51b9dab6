"""The transaction coordinator: producer ids, epochs, and the two phases of a commit."""
