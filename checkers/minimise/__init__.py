"""From an anomaly of a judged history to the smallest part of that history which still shows it."""
