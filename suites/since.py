"""From which Apache Kafka release on a promise holds: `3.6 (KIP-890)`."""

from __future__ import annotations

import re
from dataclasses import dataclass

RELEASE = r"\d+\.\d+(\.\d+)?"


@dataclass(frozen=True, slots=True)
class Since:
    """The first release that keeps a promise, and the KIP or issue with which it came."""

    release: tuple[int, ...]
    text: str

    @classmethod
    def parse(cls, text: str) -> Since:
        """Understands `3.6 (KIP-890)`; a ValueError says what is wrong with anything else."""
        if not re.fullmatch(RELEASE + r" \((KIP|KAFKA)-\d+\)", text):
            raise ValueError(f"since={text!r}: a release and the KIP or issue that it came with, like '3.6 (KIP-890)'")
        return cls(release_of(text.split()[0]), text)

    def sentence(self, release: tuple[int, ...]) -> str:
        """Why a case says nothing of an older release."""
        return f"Apache Kafka promises this since {self.text}; this is {'.'.join(map(str, release))}"


def release_of(text: str) -> tuple[int, ...]:
    """`(3, 5)` of "3.5"; a ValueError where it is no release."""
    if not re.fullmatch(RELEASE, text):
        raise ValueError(f"{text!r} is no Apache Kafka release, such as 3.5")
    return tuple(int(part) for part in text.split("."))


def number(version: str) -> tuple[int, ...]:
    """`(4, 4, 0)` of 4.4.0 and of 4.4.0-SNAPSHOT; empty for what does not begin with a number."""
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()
