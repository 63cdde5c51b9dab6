"""Runs beside each other: which broker keeps which promise, at which price, and since when.

Pure functions over the results of runs (`column.py`), rendered as a static site (`site.py`). Nothing here decides a
verdict: each is taken from the run as it is.
"""
