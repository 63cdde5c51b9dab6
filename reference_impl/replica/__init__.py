"""Replication: a leader's books of its followers, what a follower makes of an answer, and the edges between them."""
