"""Quotas of clients (KIP-546): the values that are accepted, and what is described."""

from brokertrial.faults.kinds.edit_answer import edit_answer
from brokertrial.suites.case import case
from brokertrial.wire import errors
from brokertrial.wire.messages import request

USER, CLIENT, ADDRESS = "user", "client-id", "ip"
EXACT, DEFAULT, ANY = 0, 1, 2
WITHIN_S, TURNS = 10, 40
REFUSALS = (errors.INVALID_REQUEST, errors.INVALID_CONFIG)
GOOD = {
    "producer_byte_rate": (1.0, 1024.0, 5e9),
    "consumer_byte_rate": (1.0, 2048.0, 5e9),
    "request_percentage": (0.5, 12.5, 200.0),
    "controller_mutation_rate": (0.25, 10.0),
}
BAD = {
    "producer_byte_rate": (0.0, -1.0, 0.5),
    "consumer_byte_rate": (0.0, -1024.0, 1.5),
    "request_percentage": (0.0, -3.0),
    "controller_mutation_rate": (0.0, -0.5),
    "connection_creation_rate": (5.0,),
    "SCRAM-SHA-256": (1.0,),
    "producer_byte_rates": (1024.0,),
}
TOO_BAD_FOR_ZOOKEEPER = {key: BAD[key][2:] for key in ("producer_byte_rate", "consumer_byte_rate")} | {
    key: BAD[key] for key in ("connection_creation_rate", "producer_byte_rates")
}
"""A controller with ZooKeeper takes what is not above zero (ZkAdminManager), and no credential for a quota's key."""


@case(
    "admin/quotas-as-they-are-set",
    guarantees=["adm-020", "err-003"],
    apis={"AlterClientQuotas": 0, "DescribeClientQuotas": 0},
    detects=[edit_answer("entries[].values[].value", add=1, api="DescribeClientQuotas")],
)
def quotas_are_what_they_were_set_to(wire, rng):
    """Quotas of users, of client ids and of both, by name and by default, MUST be described at every broker as they
    were set, each with its own values, by whatever filter. A value that is not above zero, a fraction of a byte, an
    unknown quota and an invalid entity MUST be refused (42, 40). Each of several in one request is judged separately; a
    refused or validated-only change changes nothing.

    Each wrong value alone, and 40 drawn changes of up to three of five through drawn brokers.
    """
    user, one, other = wire.name("user"), wire.name("one"), wire.name("other")
    entities = [{USER: user}, {CLIENT: one}, {CLIENT: other}, {USER: user, CLIENT: one}, {USER: user, CLIENT: None}]
    quotas = ClientQuotas(wire, rng, entities)
    quotas.must_refuse_what_is_wrong()
    try:
        for turn in range(TURNS):
            quotas.change()
            if turn % 5 == 4:
                node = rng.choice(wire.nodes)
                wire.eventually(lambda node=node: quotas.must_be_described(node), within=WITHIN_S)
    finally:
        quotas.remove()
    for node in wire.nodes:
        wire.eventually(lambda node=node: quotas.must_be_described(node), within=WITHIN_S)


class ClientQuotas:
    """Some whom quotas are for, and what each was given."""

    def __init__(self, wire, rng, entities):
        self.wire, self.rng, self.entities = wire, rng, entities
        self.own = [{} for _ in entities]  # type: ignore[var-annotated]
        self.bad = BAD if not wire.case_context.has_zookeeper else TOO_BAD_FOR_ZOOKEEPER

    def must_refuse_what_is_wrong(self):
        for key, value in sorted((key, value) for key, values in self.bad.items() for value in values):
            with self.wire.part(f"{key}={value}"):
                self._altered([(self.entities[0], [(key, value)])], False).must_be_refused(*REFUSALS)
        for entity in ({}, {USER: ""}, {"nobody": "x"}, {ADDRESS: "127.0.0.9", CLIENT: self.entities[1][CLIENT]}):
            with self.wire.part(f"of {entity}"):
                self._altered([(entity, [("request_percentage", 5.0)])], False).must_be_refused(*REFUSALS)

    def change(self):
        """One request for some of them, of which some may be wrong; a part of them only tries."""
        tried, rows, wrong, after = self.rng.random() < 0.15, [], set(), {}
        for place in self.rng.sample(range(len(self.entities)), self.rng.randint(1, 3)):
            own, ops = dict(self.own[place]), []
            for key in self.rng.sample(sorted(GOOD), self.rng.randint(1, 3)):
                draw = self.rng.random()
                if draw < 0.3:
                    own.pop(key, None)
                    ops.append((key, None))
                elif draw < 0.4 and key in self.bad:
                    wrong.add(place)
                    ops.append((key, self.rng.choice(self.bad[key])))
                else:
                    own[key] = self.rng.choice(GOOD[key])
                    ops.append((key, own[key]))
            rows.append((self.entities[place], ops))
            after[place] = own
        answer = self._altered(rows, tried)
        codes = {_key(row.entity): row.error_code for row in answer.struct.entries}
        for place, own in after.items():
            code = codes.get(_key_of(self.entities[place]), -1)
            if place in wrong:
                answer.must(
                    code in REFUSALS, f"{self.entities[place]} is answered {errors.name(code)}; one value is wrong"
                )
            else:
                answer.must(code == 0, f"{self.entities[place]} is answered {errors.name(code)}; its values are right")
                self.own[place] = self.own[place] if tried else own

    def remove(self):
        """Whatever they have goes."""
        self._altered([(entity, [(key, None) for key in GOOD]) for entity in self.entities], False)
        self.own = [{} for _ in self.entities]

    def must_be_described(self, node):
        """Each by a filter for it alone, and those of the user together."""
        for entity, own in zip(self.entities, self.own, strict=True):
            self._must_list([_row(kind, name) for kind, name in entity.items()], True, [(entity, own)], node)
        of_user = [(entity, own) for entity, own in zip(self.entities, self.own, strict=True) if USER in entity]
        name = self.entities[0][USER]
        self._must_list([_row(USER, name)], False, of_user, node)
        with_client = [(entity, own) for entity, own in of_user if CLIENT in entity]
        any_client = {"entity_type": CLIENT, "match_type": ANY, "match": None}
        self._must_list([_row(USER, name), any_client], self.rng.random() < 0.5, with_client, node)

    def _must_list(self, components, strict, wanted, node):
        version = self._any_version("DescribeClientQuotas")
        asked = request("DescribeClientQuotas", components=components, strict=strict)
        answer = self.wire.ask(asked, version=version, to=node).must_succeed()
        rows = answer.struct.entries or []
        found = {_key(row.entity): {each.key: each.value for each in row.values} for row in rows}
        answer.must(len(found) == len(rows), "it lists one of them twice", "entries")
        meant = {_key_of(entity): own for entity, own in wanted if own}
        answer.must(found == meant, f"it lists {found}; they were given {meant}", "entries")

    def _altered(self, rows, validate_only):
        entries = [
            {
                "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity.items()],
                "ops": [{"key": key, "value": value or 0.0, "remove": value is None} for key, value in ops],
            }
            for entity, ops in rows
        ]
        version = self._any_version("AlterClientQuotas")
        asked = request("AlterClientQuotas", entries=entries, validate_only=validate_only)
        return self.wire.ask(asked, version=version, to=self.rng.choice(self.wire.nodes))

    def _any_version(self, api):
        versions = self.wire.versions(api)
        return self.rng.randint(versions[0], versions[-1])


def _row(kind, name):
    return {"entity_type": kind, "match_type": DEFAULT if name is None else EXACT, "match": name}


def _key(entity):
    return tuple(sorted((each.entity_type, each.entity_name or "") for each in entity))


def _key_of(entity):
    return tuple(sorted((kind, name or "") for kind, name in entity.items()))
