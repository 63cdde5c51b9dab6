"""Old versions of Fetch: whatever the codec, the same records or one clean refusal (KIP-110)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors

CODECS = ("none", "gzip", "snappy", "lz4")
ZSTD_SINCE = 10


@case(
    "fetch/every-version-the-same-records",
    guarantee="fetch-014",
    detects=[edit_answer("responses[].partitions[].records[1]", drop=True, api="Fetch", skip=2, times=1)],
)
def every_version_gives_the_same_records(wire, topic):
    """Every version of Fetch that is offered MUST return the same records, whatever their codec.

    An answer need not hold all there is, but what it holds is the log from the offset on.
    """
    for codec in CODECS:
        wire.produce(topic, batch(f"{codec} 1", f"{codec} 2", compression=codec))

    wanted = [f"{codec} {n}" for codec in CODECS for n in (1, 2)]
    for answer in [wire.fetch(topic, version=version, wait=False) for version in wire.versions("Fetch")]:
        with wire.part(f"v{answer.version}"):
            held = answer.values
            answer.must(bool(held), "it holds nothing")
            sent = [value.encode() for value in wanted[: len(held)]]
            answer.must(held == sent, f"it holds {held}; sent were {wanted}")


@case(
    "fetch/zstd-in-old-versions",
    guarantee="fetch-014",
    needs=["topic-settings"],
    detects=[edit_answer("responses[].partitions[].error_code", set=2, api="Fetch")],
)
def zstd_is_refused_cleanly_where_the_version_has_none(wire, topic_of):
    """A topic that is stored in zstd MUST be readable from Fetch v10 on, and below give error 76 or the records."""
    topic = topic_of(configs={"compression.type": "zstd"})
    wire.produce(topic, batch("a", "b", compression="gzip"))

    for answer in [wire.fetch(topic, version=version, wait=False) for version in wire.versions("Fetch")]:
        with wire.part(f"v{answer.version}"):
            if answer.version < ZSTD_SINCE and answer.error:
                answer.must_be_refused(errors.UNSUPPORTED_COMPRESSION_TYPE)
            else:
                answer.must_hold("a", "b")
