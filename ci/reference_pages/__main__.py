"""Writes docs/reference/ anew.

python -P -m brokertrial.ci.reference_pages
"""

from __future__ import annotations

from pathlib import Path

from brokertrial.ci.reference_pages import names, page

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference"

if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in names():
        (FOLDER / name).write_text(page(name), encoding="utf-8")
        print(FOLDER / name)
