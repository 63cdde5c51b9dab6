"""Three brokers that are one: a facade that names three nodes, hands all requests to one, and refuses three replicas.

    facade.py PORT,PORT,PORT DATA

What it stands in front of is the bundled broker. Only the answers that carry addresses are changed, and CreateTopics
with more than one replica is refused with INVALID_REPLICATION_FACTOR, as brokers do that keep their replicas elsewhere.
"""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import BinaryIO

from brokertrial.wire import errors
from brokertrial.wire.apis import by_name
from brokertrial.wire.frames import decode_request, decode_response, encode_response, request_header
from brokertrial.wire.messages import Struct, response

ADDRESSED = ("Metadata", "FindCoordinator", "DescribeCluster")
KEYS = {by_name(name).key: name for name in (*ADDRESSED, "CreateTopics")}


def main() -> None:
    ports, data = [int(port) for port in sys.argv[1].split(",")], Path(sys.argv[2])
    node = [
        sys.executable,
        "-P",
        "-m",
        "brokertrial.reference_impl",
        "node",
        "--node-id",
        "1",
        "--port",
        "0",
        "--data",
        str(data),
    ]
    data.mkdir(parents=True, exist_ok=True)
    with subprocess.Popen(node, stdout=subprocess.PIPE) as broker:
        assert broker.stdout is not None
        signal.signal(signal.SIGTERM, lambda *_: broker.terminate())
        behind = json.loads(broker.stdout.readline())["port"]
        for port in ports:
            threading.Thread(target=serve, args=(port, ports, behind), daemon=True).start()
        sys.exit(broker.wait())


def serve(port: int, ports: list[int], behind: int) -> None:
    with socket.create_server(("127.0.0.1", port)) as listener:
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=converse, args=(connection, ports, behind), daemon=True).start()


def converse(client: socket.socket, ports: list[int], behind: int) -> None:
    """One request after the other, each answered before the next is read: a broker may be that slow."""
    with client, socket.create_connection(("127.0.0.1", behind)) as broker:
        asking, answering = client.makefile("rb"), broker.makefile("rb")
        while frame := framed(asking):
            header = request_header(frame[4:])
            name = KEYS.get(header.api_key, "")
            if name == "CreateTopics" and (refused := refusal(frame[4:])):
                client.sendall(encode_response(refused, header.api_version, header.correlation_id))
                continue
            broker.sendall(frame)
            if header.api_key == 0 and acks(frame[4:]) == 0:
                continue
            if not (answer := framed(answering)):
                return
            if name in ADDRESSED:
                _, struct = decode_response(name, header.api_version, answer[4:])
                answer = encode_response(readdressed(struct, ports), header.api_version, header.correlation_id)
            client.sendall(answer)


def framed(stream: BinaryIO) -> bytes:
    """A frame with its size; empty at the end."""
    size = stream.read(4)
    return size + stream.read(int.from_bytes(size, "big")) if len(size) == 4 else b""


def acks(frame: bytes) -> int:
    return int(decode_request(frame)[1].acks)


def refusal(frame: bytes) -> Struct | None:
    """The answer to a request for more than one replica."""
    _, asked = decode_request(frame)
    if all(topic.replication_factor <= 1 for topic in asked.topics):
        return None
    print("refused more than one replica", flush=True)
    why = "the replication factor is 1 here, or -1"
    rows = [
        {"name": topic.name, "error_code": errors.INVALID_REPLICATION_FACTOR, "error_message": why}
        for topic in asked.topics
    ]
    return response("CreateTopics", topics=rows)


def readdressed(answer: Struct, ports: list[int]) -> Struct:
    """The answer with three nodes where it names one."""
    if answer._api == "FindCoordinator":
        for place in (answer, *getattr(answer, "coordinators", ())):
            if getattr(place, "port", 0) > 0:
                place.port = ports[0]
        return answer
    one = answer.brokers[0]
    key = "node_id" if answer._api == "Metadata" else "broker_id"
    places = enumerate(ports, 1)
    answer.brokers = [type(one)(**{key: number, "host": "127.0.0.1", "port": port}) for number, port in places]
    return answer


if __name__ == "__main__":
    main()
