"""The group coordinator: who is in a group, which generation it is in, and what it has committed."""
