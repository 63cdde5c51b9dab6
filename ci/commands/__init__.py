"""One file a command of `brokertrial`."""
