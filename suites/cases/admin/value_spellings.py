"""Values of topic settings, drawn: which are accepted, in which spelling, and how each is described afterwards
(KIP-133).
"""

from brokertrial.suites.case import case
from brokertrial.suites.cases.admin._settings import GOOD_AND_BAD, SPELLINGS
from brokertrial.suites.probe.admin import DELETE, SET, TOPIC
from brokertrial.wire import errors
from brokertrial.wire.messages import request

CHANGE = {"DescribeConfigs": 3, "IncrementalAlterConfigs": 0, "AlterConfigs": 0, "CreateTopics": 5}
OF_TOPIC, WITHIN_S = 1, 20
NO_SUCH = "no.such.setting"


@case(
    "admin/values-as-they-are-spelled",
    guarantees=["adm-008", "adm-009", "adm-002"],
    apis=CHANGE,
    needs=["topic-settings"],
    detects=["H01", "H02", "H03"],
)
def a_value_is_what_its_text_says(wire, topic, rng):
    """A topic setting MUST accept each value within its bounds, in whatever spelling (surrounding blanks, a sign,
    capitals of a boolean), and MUST refuse with INVALID_CONFIG (40) a value of another type, beyond a bound or not
    among its choices, whether it is set, replaced or given at creation. DescribeConfigs MUST return each with its
    parsed value and its type, neither read-only nor sensitive.

    Each bound of each setting, and 70 drawn requests of one to four settings.
    """
    settings = SpelledSettings(wire, topic, rng)
    settings.must_refuse_each_beyond_its_bounds()
    for _ in range(70):
        settings.step()


class SpelledSettings:
    """The topic's overrides: the text by which each must be described."""

    def __init__(self, wire, topic, rng):
        self.wire, self.topic, self.rng, self.own = wire, topic, rng, {}
        described = self._described(None, 3, synonyms=False, words=False)
        self.names = [name for name in GOOD_AND_BAD if name in described]
        self.before = {name: (described[name].value, described[name].config_source) for name in self.names}

    def must_refuse_each_beyond_its_bounds(self):
        """Alone, by a request that only validates: no other setting's error hides it."""
        wrong = []
        for name in self.names:
            for value in GOOD_AND_BAD[name].bad:
                how = self.rng.choice(("alter", "replace", "create"))
                if self._tried(how, {name: value}, trial=True) != errors.INVALID_CONFIG:
                    wrong.append(f"{name}={value!r} ({how})")
        self.wire.must(not wrong, f"taken, or refused by another error than INVALID_CONFIG (40): {', '.join(wrong)}")

    def step(self):
        rng = self.rng
        chosen = {name: self._text(name) for name in rng.sample(self.names, rng.randint(1, 4))}
        bad = rng.random() < 0.3
        if bad:
            name = rng.choice([*chosen, NO_SUCH])
            chosen[name] = "1" if name == NO_SUCH else rng.choice(GOOD_AND_BAD[name].bad)
        keys = list(chosen)
        rng.shuffle(keys)
        chosen = {key: chosen[key] for key in keys}
        how, trial = rng.choice(("alter", "alter", "replace", "create")), rng.random() < 0.2
        code = self._tried(how, chosen, trial)
        wanted = errors.INVALID_CONFIG if bad else errors.NONE
        self.wire.must(code == wanted, f"{chosen} ({how}) was answered with {code}; it must be {wanted}")
        if code == errors.NONE and not trial and how != "create":
            after = {key: SPELLINGS[GOOD_AND_BAD[key].kind].described(text) for key, text in chosen.items()}
            self.own = {**(self.own if how == "alter" else {}), **after}
        if rng.random() < 0.2 and self.own:
            gone = rng.choice(sorted(self.own))
            self.wire.change_configs(TOPIC, self.topic, [(gone, DELETE, rng.choice((None, "x")))]).must_succeed()
            del self.own[gone]
        self._must_be_described()

    def _text(self, name):
        """A value that the setting may have, spelled somehow."""
        known = GOOD_AND_BAD[name]
        return self.rng.choice(SPELLINGS[known.kind].spelled)(self.rng.choice(known.good))

    def _tried(self, how, chosen, trial):
        """The error code of a request that sets these."""
        if how == "alter":
            rows = [(key, SET, text) for key, text in chosen.items()]
            return self.wire.change_configs(TOPIC, self.topic, rows, validate_only=trial).error
        if how == "replace":
            return self.wire.alter_configs(TOPIC, self.topic, chosen, validate_only=trial).error
        return self.wire.create_topic(self.wire.name("t"), configs=chosen, validate_only=True).error

    # what is described

    def _must_be_described(self):
        rng = self.rng
        some = rng.sample(self.names, 3) + rng.sample(sorted(self.own), min(2, len(self.own)))
        keys = rng.choice((None, [], some, [*some, NO_SUCH, some[0]]))
        version = rng.choice([each for each in self.wire.versions("DescribeConfigs") if each >= 1])
        how = {"synonyms": rng.random() < 0.5, "words": rng.random() < 0.3}
        self.wire.eventually(lambda: self._must_fit(keys, version, how), within=WITHIN_S)

    def _must_fit(self, keys, version, how):
        described = self._described(keys, version, **how)
        wanted = set(keys) - {NO_SUCH} if keys else set(self.names)
        here = wanted ^ {name for name in described if name in self.names}
        self.wire.must(not here, f"asked for {keys} it names too much or too little: {sorted(here)}")
        strange = sorted(name for name in described if keys and name not in keys)
        self.wire.must(not strange, f"it names {strange}, which were not asked for")
        for name in sorted(wanted):
            row, own = described[name], name in self.own
            found = (row.value, row.config_source == OF_TOPIC)
            must = (self.own[name], True) if own else (self.before[name][0], False)
            self.wire.must(found == must, f"{name} has (value, own) {found}; it must have {must}")
            self.wire.must(
                not row.read_only and not row.is_sensitive, f"{name} is reported as read-only or as a secret"
            )
            first = [(each.value, each.source) for each in row.synonyms[:1]]
            right = [(row.value, row.config_source)] if how["synonyms"] and own else first if how["synonyms"] else []
            self.wire.must(first == right, f"the first value behind {name} is {first}; it must be {right}")
            if version >= 3:
                type_ = SPELLINGS[GOOD_AND_BAD[name].kind].code
                self.wire.must(row.config_type == type_, f"{name} has the type {row.config_type}; it must be {type_}")
                fits = how["words"] or row.documentation is None
                self.wire.must(fits, f"{name} has a documentation that was not asked for")

    def _described(self, keys, version, *, synonyms, words):
        resource = {"resource_type": TOPIC, "resource_name": self.topic, "configuration_keys": keys}
        asked = request("DescribeConfigs", resources=[resource], include_synonyms=synonyms, include_documentation=words)
        answer = self.wire.ask(asked, version=version).must_succeed()
        rows = answer.struct.results[0].configs
        names = [row.name for row in rows]
        answer.must(len(set(names)) == len(names), "a setting is reported twice", "results[0].configs")
        return {row.name: row for row in rows}
