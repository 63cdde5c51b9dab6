"""The APIs that only a controller serves, to its brokers: one file each, found as those of `api/` are."""
