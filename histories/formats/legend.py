"""What the numbers and topics of an imported history were called in the file that it came from."""

from collections.abc import Iterable
from typing import Any

Name = int | str

_BITS = 31
_SMALL = 1 << _BITS
_ODD = -(1 << 50)
"""The number of the first name that is no small number; others follow below. No offset or time looks like it."""


class Legend:
    """Keys become topics, and each value of a key a number that no other value of any key has.

    A small whole number of a key is packed beside the number of its key, so that millions of them need no memory here;
    everything else (texts, negative and huge numbers, what no workload would send) is remembered.
    """

    def __init__(self, keyed: bool = True) -> None:
        self.keyed = keyed
        """Whether topics are keys of the file; if not, they are its topics."""
        self._keys: dict[str, int] = {}
        self._key_names: list[Name] = []
        self._guessed: set[int] = set()
        self._others: dict[tuple[int, Any], int] = {}
        self._other_names: list[Any] = []

    def key(self, name: Name, guess: bool = False) -> tuple[int, str]:
        """The number and the topic of a key. `guess`: a text that stood where a number cannot (a key of a JSON map)."""
        topic = str(name)
        number = self._keys.get(topic)
        if number is None:
            number = self._keys[topic] = len(self._key_names)
            self._key_names.append(_as_number(name) if guess else name)
            if guess:
                self._guessed.add(number)
        elif self._guessed and not guess and number in self._guessed:
            self._guessed.remove(number)
            self._key_names[number] = name
        return number, topic

    def value(self, key: int, name: Any) -> int:
        """The number of a value of a key. Anything that is neither a number nor a text stays what it is."""
        if type(name) is int and 0 <= name < _SMALL and key < _SMALL:
            return key << _BITS | name
        mark = (key, name if type(name) in (int, str) else ("odd", repr(name)))
        number = self._others.get(mark)
        if number is None:
            number = self._others[mark] = _ODD - len(self._other_names)
            self._other_names.append(name)
        return number

    def key_of(self, topic: str) -> Name:
        """The key as the file wrote it."""
        return self._key_names[self._keys[topic]]

    def in_words(self, sentence: str, values: Iterable[int]) -> str:
        """A sentence about values, with their names in place of numbers that mean nothing to its reader."""
        for number in values:
            if number <= _ODD:
                sentence = sentence.replace(str(number), repr(self.value_of(number)))
        return sentence

    def value_of(self, number: int) -> Any:
        """The value as the file wrote it."""
        return number & (_SMALL - 1) if number >= 0 else self._other_names[_ODD - number]


def _as_number(name: Name) -> Name:
    """The number that a JSON map's key was before it had to become a text, if it can have been one."""
    text = str(name)
    digits = text.removeprefix("-")
    plain = digits.isdecimal() and digits.isascii() and (digits == "0" or digits[0] != "0") and text != "-0"
    return int(text) if plain and len(digits) < 19 else name
