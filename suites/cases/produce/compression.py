"""Compressed batches: every codec that a producer may use, and the one that a topic wants (KIP-110)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire import errors
from brokertrial.wire.records import Record

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
RAW = "responses[].partitions[].records[1].records[0].value"


@case(
    "produce/codecs",
    guarantee="prod-011",
    apis={"Produce": 7},
    smoke=True,
    detects=["M31b:every=1"],
)
def each_codec_comes_back_as_it_was_sent(wire, topic, rng):
    """Batches compressed with gzip, snappy, lz4 and zstd MUST be accepted; every record MUST be returned as sent.

    Small and large records, some that compress well and some that do not.
    """
    wanted: list[Record] = []
    for codec in CODECS:
        values = [rng.randbytes(size) if size % 2 else b"same" * size for size in (0, 1, 31, 400, 30_001)]
        records = [Record(f"{codec} {at}".encode(), value, (("h", value[:3]),)) for at, value in enumerate(values)]
        wire.produce(topic, batch(records=records, compression=codec)).must_be_at(len(wanted))
        wanted += records
    log = wire.read_all(topic).must_have_offsets(range(len(wanted)))
    for sent, read in zip(wanted, log.records, strict=True):
        log.must(
            (sent.key, sent.value, sent.headers) == (read.key, read.value, read.headers),
            f"the record at offset {read.offset} ({(sent.key or b'').decode()}) came back as another",
        )


@case(
    "produce/zstd-needs-version-7",
    guarantee="prod-011",
    apis={"Produce": 7},
    detects=[edit_answer("responses[].partition_responses[].error_code", set=0, api="Produce")],
)
def zstd_in_an_older_produce_is_refused(wire, topic):
    """A batch compressed with zstd MUST be refused with UNSUPPORTED_COMPRESSION_TYPE in a Produce below version 7."""
    low = [version for version in wire.versions("Produce") if version < 7]
    if not low:
        wire.not_applicable("the broker offers no Produce below version 7")
    asked = [
        wire.produce(topic, batch("a", compression="zstd"), version=version, to=wire.leader(topic), wait=False)
        for version in low
    ]
    for answer in asked:
        with wire.part(f"v{answer.version}"):
            answer.must_be_refused(errors.UNSUPPORTED_COMPRESSION_TYPE)
    wire.produce(topic, batch("a", compression="zstd"), version=7).must_be_at(0)


@case(
    "produce/topic-codec",
    guarantee="prod-012",
    needs=["topic-settings"],
    detects=[edit_answer("responses[].partitions[].records[0].records[1].value", set="other", api="Fetch")],
)
def the_topic_may_want_another_codec(wire, topic_of):
    """A topic's compression.type SHOULD decide the codec that is stored, and `producer` SHOULD keep the producer's own.

    Whichever it is: offsets, keys, headers and times are those that were sent.
    """
    times = [wire.now_ms() - 5_000, wire.now_ms()]
    records = [Record(b"k", b"v" * 500, (("h", b"1"),), at) for at in times]
    settings = {"zstd": "zstd", "uncompressed": "none", "producer": None}
    for setting, stored in settings.items():
        with wire.part(setting):
            topic = topic_of(what=setting, configs={"compression.type": setting})
            for number, codec in enumerate(("gzip", "lz4", "none")):
                wire.produce(topic, batch(records=records, compression=codec)).must_be_at(2 * number)
            log = wire.read_all(topic).must_have_offsets(range(6))
            found = [part.header.compression for part in log.batches]
            wanted = ["gzip", "lz4", "none"] if stored is None else [stored] * 3
            log.must(found == wanted, f"with {setting} the codecs are {found}; they should be {wanted}")
            for record in log.records:
                sent = records[record.offset % 2]
                same = (record.key, record.value, record.headers, record.timestamp)
                log.must(
                    same == (sent.key, sent.value, sent.headers, sent.timestamp),
                    f"with {setting} the record at offset {record.offset} came back as another",
                )
