"""negative-offset: a record that a reader was given below offset 0.

    offset   -1   0   1
    read      a   b   c      -> a: no log has such an offset
    read          b   c      -> nothing

Source: Kafka documentation, "Log".
"""

NAME = "negative-offset"
GUARANTEE = "example-001"
STRENGTH = "integrity"
OBSERVES = ("poll",)
STANDS_ALONE = True
NEEDS = ("records.offset", "records.side")
SUBJECT = "SELECT DISTINCT r.history FROM records r WHERE r.side = 'seen'"
OTHERWISE = "nothing was read"
QUERY = """
    SELECT r.history, r.topic, r.partition, r.log_offset AS offset_a, r.value AS value_a, r.op AS op_a
    FROM records r WHERE r.side = 'seen' AND r.log_offset < 0
    """
SENTENCE = "A record of {topic}-{partition} was read at offset {offset_a}."
