"""Settings of resource types that do not exist (KIP-133, KIP-339)."""

from brokertrial.suites.case import case
from brokertrial.wire import errors
from brokertrial.wire.messages import request

NO_KINDS = (-1, 0, 1, 3, 99)


@case(
    "admin/kinds-without-settings",
    guarantees=["adm-008", "adm-009"],
    apis={"DescribeConfigs": 1, "IncrementalAlterConfigs": 0, "AlterConfigs": 0},
    detects=["H28"],
)
def settings_of_no_kind_are_refused(wire, topic):
    """DescribeConfigs, AlterConfigs and IncrementalAlterConfigs of an unknown resource type MUST be refused with
    INVALID_REQUEST (42), in each version, also where only validation is asked for.
    """
    change = {"name": "retention.ms", "value": "86400000"}
    for kind in NO_KINDS:
        row = {"resource_type": kind, "resource_name": topic}
        asked = [request("DescribeConfigs", resources=[{**row, "configuration_keys": None}])]
        for trial in (True, False):
            asked += [
                request("AlterConfigs", resources=[{**row, "configs": [change]}], validate_only=trial),
                request(
                    "IncrementalAlterConfigs",
                    resources=[{**row, "configs": [{**change, "config_operation": 0}]}],
                    validate_only=trial,
                ),
            ]
        for each in asked:
            for version in wire.versions(each._api):
                with wire.part(f"{each._api} v{version} of kind {kind}"):
                    wire.ask(each, version=version, to=wire.nodes[0]).must_be_refused(errors.INVALID_REQUEST)
