"""The checks, one file each; checkers/check.py says what such a file holds."""
