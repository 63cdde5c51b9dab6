"""A flood of one message leaves room for the line that matters."""

from __future__ import annotations

from brokertrial.suites.result import LogLine
from brokertrial.suites.running.log_lines import folded


def test_a_flood_is_one_line_with_its_number() -> None:
    flood = [LogLine(1, f"01:49:10,{ms} WARNING send() failed", ms / 1000) for ms in range(100, 157)]
    odd = LogLine(1, "01:49:11,001 ERROR offset 96 after 97", 1.0)
    shown = folded([*flood, odd, *flood[:3]])
    assert [line.text for line in shown] == [
        "01:49:10,100 WARNING send() failed  (and 56 more like this)",
        odd.text,
        *(line.text for line in flood[:3]),
    ]


def test_nodes_and_words_are_told_apart() -> None:
    lines = [LogLine(number % 2, "term 7", 0.0) for number in range(8)] + [LogLine(1, "epoch 7", 0.0)]
    assert folded(lines) == lines
