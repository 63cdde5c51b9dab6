"""ApiVersions: how a client and a broker find out what they have in common (KIP-35, KIP-511)."""

from suites.case import case
from wire import errors
from wire.messages import request


@case("protocol/api-versions-list", guarantee="prot-001", smoke=True)
def every_api_once_with_a_range(wire):
    """ApiVersions MUST list each served API once, itself among them, with a lowest version not above the highest."""
    for version in wire.versions("ApiVersions"):
        answer = wire.ask(_who_are_you(), version=version, via=f"v{version}").must_succeed()
        keys = [row.api_key for row in answer.struct.api_keys]
        answer.must(18 in keys, "ApiVersions (18) is not in the list", "api_keys")
        answer.must(len(keys) == len(set(keys)), "a key is listed twice", "api_keys")
        for index, row in enumerate(answer.struct.api_keys):
            path = f"api_keys[{index}]"
            answer.must(row.min_version <= row.max_version, f"{path}: min above max", f"{path}.min_version")


@case("protocol/api-versions-unknown-version", guarantee="prot-002")
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


def _who_are_you():
    return request("ApiVersions", client_software_name="brokertrial", client_software_version="1")
