"""no-progress: after all faults had healed, a partition or a group acknowledged nothing for a minute of calls.

    fault f1        1 s to 5 s, healed at 6 s
    sends to t-0    called at 7 s, 20 s, 50 s, 70 s      none acknowledged      -> t-0 makes no progress
    sends to t-1    called at 7 s, acknowledged          is right

The minute runs from the first call after the heal to the last answer, or to the end of the history; after ten seconds
of it a pass is withheld.
Definite refusals are answers, but no progress. What only a client library tried may be its own doing: the verdict on a
trial asks on a fresh connection around the proxy (`no-progress-after-heal`); here the broker is accused only by a raw
client.
Source: Kafka documentation, "Replication" (availability); catalogue err-004, repl-015, grp-025.
"""

NAME = "no-progress"
GUARANTEE = "repl-015"
STRENGTH = "recency"
OBSERVES = ("send",)
NEEDS = ("operations.call_ns", "operations.return_ns", "operations.outcome", "events.window")
SUBJECT = """
    SELECT DISTINCT a.history FROM asking a JOIN heal_times h ON h.history = a.history AND a.call_ns >= h.healed_ns
    """
OTHERWISE = "no call was made after all faults had healed"
GAPS = """
    SELECT x.history, x.topic, x.partition, x.what, x.group_id FROM stalled_calls x
    WHERE x.waited_ns >= 10000000000 AND x.waited_ns < 60000000000
    """
WITHHELD = "nothing was acknowledged after the heal ({what} of {topic}-{partition}), but for less than a minute"
QUERY = """
    SELECT x.history, x.topic, x.partition, x.group_id, x.op_a, x.op_b, x.what, x.calls,
        x.waited_ns / 1000000.0 AS ms_waited, CASE WHEN x.raw = 1 THEN 'broker' ELSE 'unknown' END AS attribution
    FROM stalled_calls x WHERE x.waited_ns >= 60000000000
    """
SENTENCE = (
    "After the last fault healed, {calls} {what} call(s)[ to {topic}-{partition}][ for group {group_id}] ran for "
    "{ms_waited:.0f} ms without one success."
)
