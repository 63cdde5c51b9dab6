"""Porcupine, the second and independent engine: a Go program of our own around the library, run as a process."""
