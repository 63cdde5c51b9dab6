"""One module a model, found by their presence."""
