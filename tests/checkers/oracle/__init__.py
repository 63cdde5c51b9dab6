"""What several definitions have in common when the checks are said once more, naively, as loops over lists.

The definitions themselves: `oracle` in tests/checkers/checks/test_*.py.
"""
