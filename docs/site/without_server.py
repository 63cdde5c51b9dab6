"""The site opens from the disk, and no one place of a server is its own: a hook of MkDocs.

The theme's page for an address that does not exist has links that begin at the root of a server: they are right in one
place of one server alone. It is left out; a server shows its own.
"""

from __future__ import annotations

from typing import Any


def on_config(config: Any) -> Any:
    """Takes 404.html from the pages of the theme."""
    config.theme.static_templates.discard("404.html")
    return config
