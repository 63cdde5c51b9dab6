"""Committed offsets: what was committed is what is read back."""

from suites.case import case


@case("commits/round-trip", guarantees=["cmt-001", "cmt-003"], apis={"OffsetCommit": 2, "OffsetFetch": 2}, smoke=True)
def what_was_committed_comes_back(wire, topic, group):
    """OffsetFetch MUST return exactly what was committed: offset and metadata; and -1 without error before that."""
    wire.committed(group, topic).must_be(-1)
    for offset, metadata in ((0, ""), (17, "ünïcode ✓"), (5, "lower is legal"), (2**40, "x" * 4096)):
        wire.commit(group, topic, offset=offset, metadata=metadata)
        wire.committed(group, topic).must_be(offset, metadata=metadata)
