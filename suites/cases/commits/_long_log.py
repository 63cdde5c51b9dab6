"""A group that has committed so much that its coordinator takes a moment to read it again."""

PARTITIONS, TIMES, AT_A_TIME = 300, 240, 20


def commit_much(wire, group, topic):
    """The offsets of all partitions, 0 to 239, one request after the other."""
    for first in range(0, TIMES, AT_A_TIME):
        asked = [
            wire.commit_all(group, {(topic, partition): number for partition in range(PARTITIONS)}, wait=False)
            for number in range(first, first + AT_A_TIME)
        ]
        for answer in asked:
            answer.must_succeed()
