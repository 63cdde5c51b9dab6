"""Command line, writers and reports: how a run is started, shown and written down. Judges nothing itself."""
