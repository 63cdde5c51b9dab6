"""Histories that other harnesses wrote, read into tables of our own."""
