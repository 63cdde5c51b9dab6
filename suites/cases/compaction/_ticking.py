"""Logs that are cleaned as long as something is written to them."""

from brokertrial.suites.cases.compaction.survivors import WITHIN_S


def tick_until_cleaned(wire, log, looks_each_s):
    """New records bring the cleaner about again and again; after each, and in the end, the log holds its latest."""
    began = wire.now_ms()
    while not log.is_cleaned() and wire.now_ms() < began + 1_000 * (WITHIN_S + wire.slack_s):
        log.tick()
        wire.rest(looks_each_s)
        log.must_hold_the_latest()
    log.must_hold_the_latest()
    if not log.is_cleaned():
        wire.not_applicable(f"not everything was cleaned within {WITHIN_S} s", "too-slow-here")
