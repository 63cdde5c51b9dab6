"""A small Kafka client for the replays in this folder: one request, one response, nothing else installed.

Each replay begins with `from ask import *` and is run as `python3 replay.py HOST:PORT`, in this folder.
"""

import os
import socket
import struct
import sys
import time


def read(line, size):
    got = b""
    while len(got) < size:
        some = line.recv(size - len(got))
        if not some:
            raise SystemExit("the broker closed the connection")
        got += some
    return got


def ask(line, api, version, body):
    frame = struct.pack(">hhih", api, version, 7, -1) + body
    line.sendall(struct.pack(">i", len(frame)) + frame)
    return read(line, struct.unpack(">i", read(line, 4))[0])[4:]


def text(word):
    return struct.pack(">h", len(word)) + word.encode()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def varint(number):
    number, out = number << 1 ^ number >> 63, b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def batch(*values, producer=(-1, -1), sequence=-1, count=None, now=None, attributes=0):
    now = int(time.time() * 1000) if now is None else now
    rows = b""
    for place, value in enumerate(values):
        row = b"\0" + varint(0) + varint(place) + varint(-1) + varint(len(value)) + value + varint(0)
        rows += varint(len(row)) + row
    rest = struct.pack(
        ">hiqqqhii", attributes, len(values) - 1, now, now, *producer, sequence, len(values) if count is None else count
    )
    rest += rows
    return struct.pack(">qiibI", 0, 9 + len(rest), -1, 2, crc32c(rest)) + rest


def produce(line, topic, records, acks=-1, partition=0, transaction=None):
    body = text(transaction) if transaction else struct.pack(">h", -1)  # Produce v3
    body += struct.pack(">hii", acks, 10000, 1) + text(topic)
    body += struct.pack(">iii", 1, partition, len(records)) + records
    answer = ask(line, 0, 3, body)[4 + 2 + len(topic) + 4 + 4 :]
    return struct.unpack(">hqq", answer[:18])  # error code, base offset, append time


def create(line, topic, partitions=1, **settings):
    body = struct.pack(">i", 1) + text(topic) + struct.pack(">ihi", partitions, 1, 0) + struct.pack(">i", len(settings))
    body += b"".join(text(name.replace("_", ".")) + text(value) for name, value in settings.items())
    answer = ask(line, 19, 2, body + struct.pack(">i?", 10000, False))  # CreateTopics v2
    time.sleep(1)
    return struct.unpack(">h", answer[4 + 4 + 2 + len(topic) :][:2])[0]


def appear(line, topic):
    try:  # where CreateTopics is not served the connection is closed
        create(socket.create_connection((host, int(port)), timeout=15), topic)
    except SystemExit:  # the topic appears on use: Metadata v4
        ask(line, 3, 4, struct.pack(">i", 1) + text(topic) + struct.pack(">?", True))


def fetch(line, topic, offset, committed=False, most=1 << 20):
    body = struct.pack(">iiiib", -1, 500, 1, 1 << 25, committed)  # Fetch v4
    body += struct.pack(">i", 1) + text(topic) + struct.pack(">iiqi", 1, 0, offset, most)
    answer = ask(line, 1, 4, body)[4 + 4 + 2 + len(topic) + 4 + 4 :]
    code, high, stable, aborted = struct.unpack(">hqqi", answer[:22])
    answer = answer[22 + 16 * max(aborted, 0) :]
    return code, high, stable, max(aborted, 0), answer[4:]  # at last the batches


host, port = sys.argv[1].rsplit(":", 1)
line = socket.create_connection((host, int(port)), timeout=15)
__all__ = ["appear", "ask", "batch", "create", "fetch", "host", "line", "os", "port", "produce", "read"]
__all__ += ["socket", "struct", "sys", "text", "time"]
