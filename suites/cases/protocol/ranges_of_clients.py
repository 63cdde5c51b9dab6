"""Ranges of ApiVersions from which clients conclude what a broker is able to do."""

from brokertrial.suites.case import case
from brokertrial.wire.messages import request

PRODUCE = 0
WITH_FEATURES, WITH_ALL_FEATURES = 3, 4


@case(
    "protocol/features-of-older-clients",
    guarantee="prot-021",
    apis={"ApiVersions": WITH_ALL_FEATURES},
    detects=["D63"],
)
def older_clients_hear_of_no_feature_from_level_0(wire):
    """ApiVersions v3 MUST NOT list a feature that is supported from level 0 on: the clients of that version take such a
    range for a broken answer. From v4 on it may (KAFKA-17011, KAFKA-17492).
    """
    asked = request("ApiVersions", client_software_name="client", client_software_version="1")
    for node in wire.nodes:
        answer = wire.ask(asked, version=WITH_FEATURES, to=node).must_succeed()
        low = {row.name: row.min_version for row in answer.struct.supported_features if row.min_version < 1}
        answer.must(not low, f"features are supported from {low}; in v3 it must be 1 or more", "supported_features")


@case("protocol/produce-is-offered-from-0", guarantee="prot-001", level="should", detects=["H30"])
def produce_is_offered_from_its_first_version(wire):
    """ApiVersions SHOULD offer Produce from version 0 on in each of its versions, whether that is served or not:
    librdkafka takes a higher one for a broker that knows no compression (KAFKA-18659).
    """
    asked = request("ApiVersions", client_software_name="client", client_software_version="1")
    for node in wire.nodes:
        for version in wire.versions("ApiVersions"):
            answer = wire.ask(asked, version=version, to=node).must_succeed()
            lowest = [row.min_version for row in answer.struct.api_keys if row.api_key == PRODUCE]
            answer.must(lowest == [0], f"Produce is offered from version {lowest} on; it should from 0", "api_keys")
