"""The Toxiproxy of a run: a server that runs already, or one that is started for each trial that needs it."""
