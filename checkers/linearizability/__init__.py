"""Linearizability of one object: fast paths, Porcupine and the search beside it."""
