"""Settings that a KIP-848 group may have of its own, and when they are in force at its coordinator."""

from brokertrial.suites.probe.admin import GROUP, SET
from brokertrial.wire import errors
from brokertrial.wire.messages import request

SESSION = "consumer.session.timeout.ms"
LONGEST_MS = 60_000
"""As long as Kafka lets a session be where no setting says otherwise."""


def set_session(wire, group, timeout_ms):
    """The group's own session timeout, in force at its coordinator."""
    answer = wire.change_configs(GROUP, group, [(SESSION, SET, str(timeout_ms))])
    if answer.struct.responses[0].error_code in (errors.INVALID_CONFIG, errors.INVALID_REQUEST):
        wire.not_applicable(f"groups may not have {SESSION}={timeout_ms} here", "refused-by-settings")
    answer.must_succeed()
    _await_in_force(wire, group, timeout_ms)


def lengthen_sessions(wire, group):
    """For a case that may be slow; where sessions cannot be lengthened they are as they are."""
    if not wire.versions("IncrementalAlterConfigs"):
        return
    longer = wire.change_configs(GROUP, group, [(SESSION, SET, str(LONGEST_MS))])
    if longer.error == 0 and wire.versions("DescribeConfigs"):
        _await_in_force(wire, group, LONGEST_MS)


def _await_in_force(wire, group, timeout_ms):
    """Another node learns of it later; the session of who joins before is as it was."""
    asked = request(
        "DescribeConfigs",
        resources=[{"resource_type": GROUP, "resource_name": group, "configuration_keys": [SESSION]}],
    )

    def in_force():
        answer = wire.ask(asked, to=lambda: wire.coordinator(group)).must_succeed()
        return [row.value for row in answer.struct.results[0].configs] == [str(timeout_ms)]

    wire.until(in_force, within=10, what=f"the coordinator has {SESSION}={timeout_ms}")
