"""Settings that a KIP-848 group may have of its own, and when they are in force at its coordinator."""

from brokertrial.suites.probe.admin import GROUP, SET
from brokertrial.wire import errors
from brokertrial.wire.messages import request

SESSION = "consumer.session.timeout.ms"
IN_FORCE_S, AGAIN_S = 10, 0.1
LONGEST_MS = 60_000
"""As long as Kafka lets a session be where no setting says otherwise."""


def set_session(wire, group, timeout_ms):
    """The group's own session timeout, in force at its coordinator."""
    answer = wire.change_configs(GROUP, group, [(SESSION, SET, str(timeout_ms))])
    if answer.struct.responses[0].error_code in (errors.INVALID_CONFIG, errors.INVALID_REQUEST):
        wire.not_applicable(f"groups may not have {SESSION}={timeout_ms} here", "refused-by-settings")
    answer.must_succeed()
    wire.until(
        lambda: _is_in_force(wire, group, timeout_ms),
        within=IN_FORCE_S,
        what=f"the coordinator has {SESSION}={timeout_ms}",
    )


def lengthen_sessions(wire, group):
    """For a case that may be slow; where sessions cannot be lengthened, or are not shown, they are as they are."""
    if not wire.versions("IncrementalAlterConfigs"):
        return
    longer = wire.change_configs(GROUP, group, [(SESSION, SET, str(LONGEST_MS))])
    if longer.error or not wire.versions("DescribeConfigs"):
        return
    until_ms = wire.now_ms() + IN_FORCE_S * 1_000
    while not _is_in_force(wire, group, LONGEST_MS) and wire.now_ms() < until_ms:
        wire.rest(AGAIN_S)


def _is_in_force(wire, group, timeout_ms):
    """Another node than the one that was asked learns of it later; the session of who joins before is as it was."""
    asked = request(
        "DescribeConfigs",
        resources=[{"resource_type": GROUP, "resource_name": group, "configuration_keys": [SESSION]}],
    )
    answer = wire.ask(asked, to=lambda: wire.coordinator(group))
    answer.examined = True
    return [row.value for result in answer.struct.results for row in result.configs] == [str(timeout_ms)]
