"""ApiVersions: how a client and a broker find out what they have in common (KIP-35, KIP-511)."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.wire import errors
from brokertrial.wire.messages import request


@case(
    "protocol/api-versions-list",
    guarantee="prot-001",
    smoke=True,
    detects=[edit_answer("api_keys[api_key=47].min_version", set=99, api="ApiVersions")],
)
def every_api_once_with_a_range(wire):
    """ApiVersions MUST list each served API once, itself among them, with a lowest version not above the highest."""
    asked = [
        wire.ask(_who_are_you(), version=version, via=f"v{version}", wait=False)
        for version in wire.versions("ApiVersions")
    ]
    for answer in asked:
        answer.must_succeed()
        keys = [row.api_key for row in answer.struct.api_keys]
        answer.must(18 in keys, "ApiVersions (18) is not in the list", "api_keys")
        answer.must(len(keys) == len(set(keys)), "a key is listed twice", "api_keys")
        for index, row in enumerate(answer.struct.api_keys):
            path = f"api_keys[{index}]"
            answer.must(row.min_version <= row.max_version, f"{path}: min above max", f"{path}.min_version")


@case("protocol/api-versions-unknown-version", guarantee="prot-002", detects=["M39b"])
def an_unknown_version_is_answered_in_version_0(wire):
    """ApiVersions in a version that the broker does not know MUST be answered in the layout of v0 with error 35.

    The connection stays usable: clients go on with a version that the broker does know.
    """
    line = wire.connect("from the future")
    line.send_bytes(wire.frame(_who_are_you(), 3, api_version=99, correlation_id=7))
    frame = line.receive_bytes()

    answer = wire.decoded("ApiVersions", 0, frame, correlation_id=7)
    wire.must(answer.error_code == errors.UNSUPPORTED_VERSION, f"the error is {answer.error_code}; it must be 35")
    wire.ask(_who_are_you(), version=0, via="from the future").must_succeed()


@case("protocol/api-versions-header", guarantee="prot-003", apis={"ApiVersions": 3}, detects=["M39a"])
def the_answer_has_no_tags_in_its_header(wire):
    """ApiVersions MUST be answered without tags in the header, in flexible versions too.

    A client that asks does not know yet what the broker can read: it looks for the error right behind the id.
    """
    for version in wire.versions("ApiVersions")[3:]:
        line = wire.connect(f"v{version}")
        line.send_bytes(wire.frame(_who_are_you(), version, correlation_id=0x01020304))
        frame = line.receive_bytes()
        wire.must(
            frame[4:6] == b"\x00\x00", f"v{version}: behind the correlation id comes {frame[4:8].hex()}, not error 0"
        )
        wire.decoded("ApiVersions", version, frame, correlation_id=0x01020304)


@case(
    "protocol/client-software-name",
    guarantee="prot-004",
    apis={"ApiVersions": 3},
    detects=[edit_answer("error_code", set=0, api="ApiVersions")],
)
def a_name_that_is_none_is_refused(wire):
    """ApiVersions from v3 on SHOULD refuse a client software name or version that is empty or has illegal characters.

    Letters and digits, dots and dashes inside only: the names go into metrics and logs (KIP-511).
    """
    wrong = [(" x", "1"), ("-a", "1"), ("a.", "1"), ("", "1"), ("a b", "1"), ("a", ""), ("a", "1-"), ("a\nb", "1")]
    asked = [wire.ask(_who_are_you(*pair), version=3, via="wrong", wait=False) for pair in wrong]
    fine = wire.ask(_who_are_you("a-b.c", "1.0-rc2"), version=3, via="right", wait=False)
    for answer in asked:
        answer.must_be_refused(errors.INVALID_REQUEST)
    fine.must_succeed()


def _who_are_you(name="client", version="1"):
    return request("ApiVersions", client_software_name=name, client_software_version=version)
