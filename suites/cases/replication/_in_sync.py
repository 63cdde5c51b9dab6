"""Which replicas of a topic's partitions are in sync, as each broker shows it."""


def await_in_sync(wire, topic, partitions, asked, in_sync, within):
    """By what each of these nodes says, just these replicas come to be in sync in each partition, and lead it."""
    for node in sorted(asked):
        wire.eventually(lambda node=node: _must_be_in_sync(wire, topic, partitions, node, in_sync), within=within)


def _must_be_in_sync(wire, topic, partitions, node, in_sync):
    answer = wire.metadata(topic, to=node)
    answer.examined = True  # a partition without a leader for a moment
    rows, path = answer.struct.topics[0].partitions, "topics[0].partitions"
    answer.must(len(rows) == partitions, f"{len(rows)} partitions are described, of {partitions}", path)
    others = sorted(row.partition_index for row in rows if set(row.isr_nodes) != in_sync)
    said = (
        f"in {len(others)} of {partitions} partitions, {others[:3]} among them, not just {sorted(in_sync)} are in sync"
    )
    answer.must(not others, said, path)
    away = sorted(row.partition_index for row in rows if row.leader_id not in in_sync)
    answer.must(not away, f"{len(away)} partitions, {away[:3]} among them, have no leader that is in sync", path)
