"""What is wrong with a foreign file, and where."""

from brokertrial.histories.header import HistoryRefused


class BadFile(HistoryRefused):
    """A file that cannot be read as what it is said to be: one sentence, with the line."""

    @classmethod
    def at(cls, file: object, line: int, what: str) -> "BadFile":
        """The sentence `FILE, line N: what.`"""
        return cls(f"{file}, line {line}: {what}.")
