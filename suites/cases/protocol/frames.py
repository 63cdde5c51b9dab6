"""Frames on a byte stream: their size, and where the stream happens to be cut."""

from brokertrial.suites.case import case
from brokertrial.suites.probe import batch
from brokertrial.wire.messages import request

SOFTWARE = {"client_software_name": "client", "client_software_version": "1"}
LARGEST, SOON_S = 2**31 - 1, 1.0


@case("protocol/impossible-frame-size", guarantee="prot-013", detects=["M41a", "M41c"])
def a_frame_of_an_impossible_size_closes_its_connection(wire, nodes):
    """A frame that announces a negative size, or more than the broker accepts, MUST close its connection, and no other.

    No memory may be allocated for it either. The limit is socket.request.max.bytes; where the broker describes none,
    it may wait for the rest of two gigabytes.
    """
    sizes = {"negative": -1, "most negative": -(2**31), "two gigabytes": LARGEST}
    limit = wire.setting("socket.request.max.bytes") or ""
    if limited := limit.isdigit() and int(limit) < LARGEST:
        sizes["one above the limit"] = int(limit) + 1
    wire.must_still_serve("busy")
    before = nodes.memory()
    lines = {name: wire.connect(name) for name in sizes}
    for name, size in sizes.items():
        lines[name].send_bytes(size.to_bytes(4, "big", signed=True) + bytes(64))
    wire.must_still_serve("busy")
    for name, size in sizes.items():
        if limited or size < 0:
            wire.must_close(lines[name], because=f"a frame announced {size} bytes")
        elif not lines[name].is_closed(SOON_S):
            wire.noted.append(f"a frame of {size} bytes is waited for, and no limit is described")
    nodes.must_stay_small(before, within_mib=512, because="a frame announced two gigabytes")
    wire.must_still_serve("busy")


@case("protocol/cut-anywhere", guarantee="prot-014", detects=["M41b"])
def where_the_stream_is_cut_makes_no_difference(wire, topic):
    """Requests MUST be understood however the stream is cut: byte by byte, in halves, or many in one piece."""
    version = min(wire.versions("ApiVersions")[-1], 3)
    whole = wire.frame(request("ApiVersions", **SOFTWARE), version, correlation_id=1)
    pieces = wire.connect("byte by byte")
    for byte in whole:
        pieces.send_bytes(bytes([byte]))
    halves = wire.connect("halves")
    for number in range(1, 9):
        frame = wire.frame(request("ApiVersions", **SOFTWARE), version, correlation_id=number)
        halves.send_bytes(frame[: 3 * number])
        halves.send_bytes(frame[3 * number :])
    together = wire.connect("together")
    together.send_bytes(
        b"".join(
            wire.frame(request("ApiVersions", **SOFTWARE), version, correlation_id=number) for number in range(1, 201)
        )
    )
    for line, count in ((pieces, 1), (halves, 8), (together, 200)):
        for number in range(1, count + 1):
            wire.decoded("ApiVersions", version, line.receive_bytes(), correlation_id=number)


@case("protocol/cut-off-in-the-middle", guarantee="prot-014", detects=["M41b"])
def half_a_request_and_a_lost_connection_have_no_effect(wire, topic):
    """A partly received request MUST have no effect; while its connection is open the rest MUST be awaited."""
    version = min(wire.versions("Produce")[-1], 12)
    rows = [{"name": topic, "partition_data": [{"index": 0, "records": batch("a")}]}]
    frame = wire.frame(request("Produce", acks=-1, timeout_ms=10_000, topic_data=rows), version, correlation_id=3)
    node = wire.leader(topic)

    lost = wire.connect("lost", node)
    lost.send_bytes(frame[:-1])
    lost.close()
    slow = wire.connect("slow", node)
    slow.send_bytes(frame[:-1])
    wire.list_offsets(topic, at="latest").must_name(offset=0)
    slow.send_bytes(frame[-1:])
    wire.decoded("Produce", version, slow.receive_bytes(), correlation_id=3)
    wire.read_all(topic).must_hold("a")
