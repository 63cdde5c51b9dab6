"""What a package contributes to brokertrial: docs/extending.md."""
