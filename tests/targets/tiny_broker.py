"""A broker that answers ApiVersions and Metadata and nothing else: what a `file:` target starts in these tests.

    tiny_broker.py PORT DATA [--id N] [--all host:port,...] [--advertise HOST:PORT] [--die TEXT] [--stubborn] [--quiet]
                   [--own-session]

It counts its starts in DATA/starts, has its number in DATA/pid, and writes a line with `panicked at` when DATA/panic
appears.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
import threading
from pathlib import Path

from brokertrial.wire.apis import by_name
from brokertrial.wire.frames import decode_request, encode_response
from brokertrial.wire.messages import Struct, response

OFFERED = ("ApiVersions", "Metadata")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("ports")
    parser.add_argument("data", type=Path)
    parser.add_argument("--id", type=int, default=1)
    parser.add_argument("--all", default="")
    parser.add_argument("--advertise", default="")
    parser.add_argument("--die", default="")
    parser.add_argument("--stubborn", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--own-session", action="store_true")
    options = parser.parse_args()
    if options.die:
        for number in range(30):
            print(f"{options.die} {number}", flush=True)
        sys.exit(3)
    if options.stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if options.own_session:
        if os.fork():
            os.wait()
            sys.exit(0)
        os.setsid()
    options.data.mkdir(parents=True, exist_ok=True)
    (options.data / "pid").write_text(str(os.getpid()))
    with (options.data / "starts").open("a") as starts:
        starts.write("started\n")
    ports = [int(port) for port in options.ports.split(",")]
    places = options.all.split(",") if options.all else [f"127.0.0.1:{port}" for port in ports]
    if options.advertise:
        places = [options.advertise]
    brokers = [
        {"node_id": options.id + n if len(ports) > 1 or not options.all else 100 + n, "host": host, "port": int(port)}
        for n, (host, _, port) in enumerate(place.rpartition(":") for place in places)
    ]
    if not options.quiet:
        print(f"serving on {options.ports}", flush=True)
    (options.data / "broker.log").write_text("a line in a file\n")
    for port in ports[1:]:
        threading.Thread(target=serve, args=(port, brokers, options.data), daemon=True).start()
    serve(ports[0], brokers, options.data)


def serve(port: int, brokers: list[dict[str, object]], data: Path) -> None:
    with socket.create_server(("127.0.0.1", port)) as listener:
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=converse, args=(connection, brokers, data), daemon=True).start()


def converse(connection: socket.socket, brokers: list[dict[str, object]], data: Path) -> None:
    with connection, connection.makefile("rb") as stream:
        while len(size := stream.read(4)) == 4:
            header, _ = decode_request(stream.read(int.from_bytes(size, "big")))
            if (data / "panic").exists():
                (data / "panic").unlink()
                print("thread main panicked at tiny_broker.py", flush=True)
            assert header.api is not None
            message = answer(header.api.name, brokers)
            connection.sendall(encode_response(message, header.api_version, header.correlation_id))


def answer(api: str, brokers: list[dict[str, object]]) -> Struct:
    if api == "Metadata":
        return response("Metadata", brokers=brokers, controller_id=1)
    keys = [
        {
            "api_key": by_name(name).key,
            "min_version": by_name(name).min_version,
            "max_version": by_name(name).max_version,
        }
        for name in OFFERED
    ]
    return response("ApiVersions", api_keys=keys)


if __name__ == "__main__":
    main()
