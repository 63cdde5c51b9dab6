"""unseen: an acknowledged record that no consumer read, although everything was read in the end.

    offset   0   1   2
    sent     a   b   c          all acknowledged
    read     a   b              and the final read reached the end, 2   -> c is unseen

Lost and very late look alike from outside; that is why it counts only where a final read reached the end of the
partition after the faults were healed (event `final-read`). What readers passed by is reported as `lost-write` instead.
Source: Jepsen's kafka workload, `unseen`.
"""

NAME = "unseen"
GUARANTEE = "prod-002"
STRENGTH = "durability"
DECIDES = ("prod-002", "prod-018", "repl-001", "repl-012", "fetch-015")
OBSERVES = ("send",)
STANDS_ALONE = True
HARMS = True
NEEDS = ("records.offset", "records.value", "records.outcome", "records.prev_offset", "clients.acks", "events.offset")
SUBJECT = "SELECT DISTINCT w.history FROM writers w WHERE w.durable AND w.acknowledged"
OTHERWISE = "no send was acknowledged by all in-sync replicas"
GAPS = """
    SELECT o.history, o.topic, o.partition FROM records_owed o
    LEFT JOIN final_reads f ON f.history = o.history AND f.topic = o.topic AND f.partition = o.partition
    WHERE f.topic IS NULL
    GROUP BY o.history, o.topic, o.partition
    """
WITHHELD = "acknowledged records were not read, and the final read did not reach the end of {topic}-{partition}"
QUERY = """
    SELECT o.history, o.topic, o.partition, o.log_offset AS offset_a, o.value AS value_a, o.op AS op_a,
        f.log_end AS log_end
    FROM records_owed o
    JOIN final_reads f ON f.history = o.history AND f.topic = o.topic AND f.partition = o.partition
    LEFT JOIN passed_records l ON l.history = o.history AND l.value = o.value AND l.op = o.op
    WHERE l.op IS NULL
    """
SENTENCE = (
    "Value {value_a} was acknowledged at {topic}-{partition} offset {offset_a}, but no consumer read it, although "
    "the final read reached the log end offset {log_end}."
)
