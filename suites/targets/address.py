"""Target strings: `scheme[:where][?option=value&...]`, as in `kafka:4.4.0?nodes=3` or `reference?mutant=M05`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Address:
    """A target string taken apart; nothing in it is checked but its form."""

    text: str
    scheme: str
    where: str
    options: dict[str, str]

    @classmethod
    def parse(cls, text: str) -> Address:
        """Takes a target string apart; raises ValueError with the part that has no meaning."""
        place, question, query = text.partition("?")
        scheme, _, where = place.partition(":")
        options: dict[str, str] = {}
        for pair in query.split("&") if question else ():
            option, equals, value = pair.partition("=")
            if not option or not equals or not value:
                raise ValueError(f"`{pair}` after the question mark is not option=value")
            if option in options:
                raise ValueError(f"option {option} is there twice")
            options[option] = value
        return cls(text, scheme, where, options)
