"""One run: its cases chosen, its target held, each case to its verdict, everything removed."""
