"""librdkafka's mock cluster as a process: prints its addresses as one line of JSON and serves until it is ended."""

from __future__ import annotations

import json
import signal
import sys

from confluent_kafka import Producer

from brokertrial import logs

_ANSWER_WITHIN_S = 10


def main(brokers: int) -> None:
    """Serves until SIGTERM. The cluster lives inside a client object, so that must be kept."""
    logs.begin("mock cluster")
    owner = Producer({"test.mock.num.brokers": brokers, "bootstrap.servers": "unused:1", "log_level": 2})
    named = owner.list_topics(timeout=_ANSWER_WITHIN_S).brokers.values()
    places = {node.id: f"{node.host}:{node.port}" for node in named}
    print(json.dumps({"ready": True, "brokers": places}), flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    while True:
        signal.pause()


if __name__ == "__main__":
    main(int(sys.argv[1]))
