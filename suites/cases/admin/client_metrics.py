"""Subscriptions to metrics of clients (KIP-714): what they may be set to, and where they are listed and described."""

from brokertrial.suites.case import case
from brokertrial.suites.probe.admin import DELETE, SET
from brokertrial.wire import errors
from brokertrial.wire.messages import request

CLIENT_METRICS, OWN, WITHIN_S, TURNS = 16, 7, 10, 50
REFUSALS = (errors.INVALID_CONFIG, errors.INVALID_REQUEST)
GOOD = {
    "interval.ms": ("100", "101", "5000", "3599999", "3600000"),
    "metrics": ("*", "org.apache.kafka.producer.", "org.apache.kafka.producer.,org.apache.kafka.consumer."),
    "match": ("client_id=abc", "client_software_name=Java,client_software_version=11.1.*", "client_source_port=9092"),
}
BAD = {
    "interval.ms": ("99", "0", "-1", "3600001", "often", "1.5", str(2**31)),
    "match": ("client_id", "nobody=x", "client_id=[", "client_id=a,nothing"),
    "interval": ("5000",),
    "retention.ms": ("5000",),
}


@case(
    "admin/client-metrics",
    guarantees=["adm-008", "adm-009", "err-003"],
    apis={"ListConfigResources": 0, "DescribeConfigs": 1, "IncrementalAlterConfigs": 1},
    detects=["V69", "V70"],
)
def subscriptions_have_what_they_may_have(wire, rng):
    """A client metrics subscription MUST accept each valid interval, list of metrics and list of patterns, and MUST
    refuse others (40, 42), also an unknown setting, and a subscription without a name; a refused or validated-only
    request changes nothing, not even its valid entries. The subscription MUST be listed as long as it has a setting,
    and described with its settings.

    Each invalid setting alone, and 50 drawn changes of three subscriptions through drawn nodes.
    """
    names = {wire.name("s"): {} for _ in range(3)}  # type: ignore[var-annotated]
    for key, value in sorted((key, value) for key, values in BAD.items() for value in values):
        with wire.part(f"{key}={value}"):
            _changed(wire, next(iter(names)), [(key, SET, value)], False, wire.nodes[0]).must_be_refused(*REFUSALS)
    for turn in range(TURNS):
        name = rng.choice(list(names))
        own, rows, wrong = dict(names[name]), [], False
        for key in rng.sample(sorted({**GOOD, **BAD}), rng.randint(1, 3)):
            if key in own and rng.random() < 0.4:
                del own[key]
                rows.append((key, DELETE, None))
            elif key not in GOOD or (key in BAD and rng.random() < 0.25):
                wrong = True
                rows.append((key, SET, rng.choice(BAD[key])))
            else:
                own[key] = rng.choice(GOOD[key])
                rows.append((key, SET, own[key]))
        tried, nameless = rng.random() < 0.15, rng.random() < 0.05
        answer = _changed(wire, "" if nameless else name, rows, tried, rng.choice(wire.nodes))
        if wrong or nameless:
            answer.must_be_refused(*REFUSALS)
        else:
            answer.must_succeed()
            names[name] = names[name] if tried else own
        if turn % 5 == 4:
            node = rng.choice(wire.nodes)
            wire.eventually(lambda node=node: _must_be_so(wire, names, node), within=WITHIN_S)
    for name in names:
        _changed(wire, name, [(key, DELETE, None) for key in GOOD], False, wire.nodes[0]).must_succeed()
    wire.eventually(lambda: _must_be_so(wire, {name: {} for name in names}, wire.nodes[0]), within=WITHIN_S)


def _changed(wire, name, rows, validate_only, node):
    configs = [{"name": key, "config_operation": how, "value": value} for key, how, value in rows]
    resource = {"resource_type": CLIENT_METRICS, "resource_name": name, "configs": configs}
    return wire.ask(request("IncrementalAlterConfigs", validate_only=validate_only, resources=[resource]), to=node)


def _must_be_so(wire, names, node):
    newest = max(wire.versions("ListConfigResources"))
    for version in sorted({0, newest}):
        asked = request("ListConfigResources", resource_types=[CLIENT_METRICS] if version else [])
        listed = wire.ask(asked, version=version, to=node).must_succeed()
        found = sorted(row.resource_name for row in listed.struct.config_resources if row.resource_name in names)
        wanted = sorted(name for name, own in names.items() if own)
        listed.must(found == wanted, f"v{version} lists {found}; it must list {wanted}", "config_resources")
    rows = [{"resource_type": CLIENT_METRICS, "resource_name": name, "configuration_keys": None} for name in names]
    answer = wire.ask(request("DescribeConfigs", resources=rows), to=node).must_succeed()
    for row in answer.struct.results:
        own = {each.name: each.value for each in row.configs if each.config_source == OWN}
        answer.must(own == names[row.resource_name], f"it has {own}; it was given {names[row.resource_name]}")
