"""The minimal replays of docs/finding-admin-requests.md: three admin requests that Apache Kafka does not do as it says.

    python -m campaigns.admin_requests [kafka:4.4.0]

1. AlterConfigs that names a topic twice MUST be answered. 2. IncrementalAlterConfigs with an operation that there is
not MUST be refused, and the controller serves on. 3. A topic that is made under the name of a deleted one MUST NOT have
the settings of that one, also where the node was restarted in between.

Exit status: 0, so it was; 1, it was not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from brokertrial.histories.tempdirs import Scratch
from brokertrial.suites.probe.admin import SET, TOPIC
from brokertrial.suites.probe.context import CaseContext
from brokertrial.suites.probe.failures import NoResponse
from brokertrial.suites.probe.wire import Wire
from brokertrial.suites.targets import open_target
from brokertrial.suites.targets.base import Target
from brokertrial.wire import errors
from brokertrial.wire.messages import request

WITHIN_S, NO_SUCH_OPERATION = 10, 7
SETTING, VALUE = "retention.ms", "7654321"


def main(text: str) -> int:
    """Plays all three and prints what was seen; the exit status."""
    kept = True
    with Scratch("admin") as folder, open_target(text, Path(folder)) as target:
        print(f"{text}, version {target.version()}")
        for played in (twice, unknown_operation, made_again):
            right, seen = played(target)
            print(f"{played.__name__}: {seen}")
            kept = kept and right
    return 0 if kept else 1


def twice(target: Target) -> tuple[bool, str]:
    """A topic named twice in AlterConfigs."""
    wire = _wire(target, "twice")
    rows = [_row("twice", [{"name": SETTING, "value": VALUE}])] * 2
    try:
        answer = wire.ask(request("AlterConfigs", resources=rows, validate_only=False), may_take_s=WITHIN_S)
    except NoResponse as error:
        return False, str(error)
    return True, ", ".join(errors.name(row.error_code) for row in answer.struct.responses)


def unknown_operation(target: Target) -> tuple[bool, str]:
    """An operation that there is not, for one topic; the other row of the request is as it should be."""
    wire = _wire(target, "operation", "other")
    wrong = {"name": SETTING, "value": VALUE, "config_operation": NO_SUCH_OPERATION}
    rows = [_row("operation", [wrong]), _row("other", [{"name": SETTING, "value": VALUE, "config_operation": SET}])]
    answer = wire.ask(request("IncrementalAlterConfigs", resources=rows, validate_only=False))
    found = [row.error_code for row in answer.struct.responses]
    return found == [errors.INVALID_REQUEST, 0], ", ".join(map(errors.name, found))


def made_again(target: Target) -> tuple[bool, str]:
    """A topic with a setting is deleted, the node restarted, the topic made again without it."""
    wire = _wire(target, "again")
    wire.change_configs(TOPIC, "again", [(SETTING, SET, VALUE)]).must_succeed()
    wire.delete_topic("again").must_succeed()
    (node,) = target.nodes.values()
    _restarted(wire, target, node.terminate)
    wire.create_topic("again").must_succeed()
    wire.await_topic("again")
    told = wire.configs_of_topic("again")[SETTING]
    return told != VALUE, f"{SETTING} of the new topic is {told}"


def _restarted(wire: Wire, target: Target, end: Callable[[], object]) -> None:
    end()
    wire.drop_lines()
    target.recover()


def _wire(target: Target, *topics: str) -> Wire:
    addresses = [(host, int(port)) for host, _, port in (one.partition(":") for one in target.bootstrap.split(","))]
    wire = Wire.unrecorded(CaseContext(prefix="", case=""), addresses)
    for topic in topics:
        wire.create_topic(topic).must_succeed()
        wire.await_topic(topic)
    return wire


def _row(topic: str, configs: list[dict[str, object]]) -> dict[str, object]:
    return {"resource_type": TOPIC, "resource_name": topic, "configs": configs}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "kafka:4.4.0"))
