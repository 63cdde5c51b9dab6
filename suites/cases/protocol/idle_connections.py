"""Connections on which nothing comes for long (connections.max.idle.ms)."""

from brokertrial.suites.case import case
from brokertrial.wire.messages import request

SETTING, IDLE_MS = "connections.max.idle.ms", 3_000
SOFTWARE = {"client_software_name": "client", "client_software_version": "1"}
EACH_S, CLOSED_WITHIN_S = 0.5, 15


@case(
    "protocol/idle-connections-are-closed",
    guarantees=["err-005"],
    needs=["chosen-settings", "terminate", "restart"],
    detects=["B61"],
)
def who_says_nothing_is_cut_off(wire, nodes):
    """A connection on which nothing comes for connections.max.idle.ms SHOULD be closed, whether anything ever came on
    it or not; one that is used more often than that MUST stay open.
    """
    nodes.start_with({SETTING: str(IDLE_MS)})
    node = wire.nodes[0]
    silent, used_once = wire.connect("silent", node), wire.connect("used once", node)
    ask = request("ApiVersions", **SOFTWARE)
    used_once.send(ask, 0).wait()
    began_ms = wire.now_ms()
    while wire.now_ms() < began_ms + 2 * IDLE_MS:
        wire.ask(ask, version=0, to=node, via="in use").must_succeed()
        wire.rest(EACH_S)
    for line in (silent, used_once):
        wire.must_close(line, within=CLOSED_WITHIN_S, because=f"nothing came on it for {IDLE_MS} ms")
    wire.ask(ask, version=0, to=node, via="in use").must_succeed()
