"""The registry of guarantees: sources are Kafka's own, and conditions can be read."""

import re

import pytest

from brokertrial.suites.guarantees import registry

BY_OTHERS = re.compile(
    r"redpanda|kfake|franz|kgo|tansu|automq|warpstream|bufstream|\bkop\b|inkless|nisshi|jepsen|observed|practice|ksql",
    re.I,
)
INDEX = "Kafka+Improvement+Proposals"
WHOLE = re.compile(r"(documentation/?|protocol\.html|tree/[\d.]+)$")


@pytest.mark.parametrize("entry", registry().values(), ids=lambda entry: entry.id)
def test_its_source_is_kafkas_own(entry):
    assert not BY_OTHERS.search(entry.source), "a guarantee rests on what Kafka says, not on what another broker mended"
    assert not BY_OTHERS.search(entry.link)


@pytest.mark.parametrize("entry", registry().values(), ids=lambda entry: entry.id)
def test_a_page_of_a_kip_is_one_that_its_source_names(entry):
    if page := re.search(r"/display/KAFKA/KIP-(\d+)", entry.link):
        assert f"KIP-{page[1]}" in entry.source


@pytest.mark.parametrize("entry", registry().values(), ids=lambda entry: entry.id)
def test_its_link_leads_to_the_very_place(entry):
    assert INDEX not in entry.link, "name the page of the KIP itself"
    assert not WHOLE.search(entry.link), "name the section, or the file of the class"


@pytest.mark.parametrize("entry", registry().values(), ids=lambda entry: entry.id)
def test_its_conditions_are_words(entry):
    debris = [condition for condition in entry.conditions if condition.startswith("/") or " / " in condition]
    assert not debris


QUOTED = 276
"""Guarantees that quote a sentence of Kafka's own; none may be lost."""

MOST_WORDS = 30

SECTIONS = (
    "https://kafka.apache.org/documentation/#",
    "https://kafka.apache.org/protocol.html#",
    "https://kafka.apache.org/23/protocol.html#",  # the last guide that says what a correlation id is for
    "https://github.com/apache/kafka/blob/3.9/",
    "https://github.com/apache/kafka/blob/4.1.0/",  # what 3.9 does not have yet
    "https://cwiki.apache.org/confluence/display/KAFKA/KIP-",
)


def test_quotations_are_not_lost():
    assert len([entry for entry in registry().values() if entry.quote]) >= QUOTED


@pytest.mark.parametrize("entry", [row for row in registry().values() if row.quote], ids=lambda entry: entry.id)
def test_a_quotation_is_short_and_has_a_source(entry):
    assert entry.quote == " ".join(entry.quote.split()), "one line, as it is printed"
    assert len(entry.quote) <= 240 and len(entry.quote.split()) <= MOST_WORDS
    assert entry.quote_source.startswith(SECTIONS), "the section or the file in which the sentence stands"
    assert entry.quoted_from != entry.link, "said once"


def test_only_a_quotation_has_a_place_of_its_own():
    assert not [entry.id for entry in registry().values() if entry.quoted_from and not entry.quote]


def test_what_rests_on_a_class_alone_is_by_implementation():
    rows = registry()
    assert rows["grp-023"].by_implementation and not rows["prod-002"].by_implementation
    assert not [entry.id for entry in rows.values() if entry.by_implementation and entry.quote]


def test_what_is_optional_is_told_apart_from_what_binds_everybody():
    found = {entry.id: entry.optional for entry in registry().values()}
    assert found["idem-001"] and found["comp-001"] and not found["prod-002"]
