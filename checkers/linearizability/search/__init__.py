"""Searches for an order of the operations on one object that explains every answer: what decides without a witness."""
