"""The broker that franz-go talks to."""

from __future__ import annotations

from tests.reference_impl_coordinators.conftest import process

__all__ = ["process"]
