"""The options of a run: one struct for the command line, its child process, pytest, tools and Python callers."""

from __future__ import annotations

import os
import random
import tomllib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec

from brokertrial.faults.schedule import BadSchedule
from brokertrial.histories.tempdirs import Scratch
from brokertrial.suites.case import by_id
from brokertrial.suites.running import claims, extended, requirements, run_folder
from brokertrial.suites.running.bad_options import BadOptions
from brokertrial.suites.running.earlier import Earlier
from brokertrial.suites.running.requirements import CORE
from brokertrial.suites.running.run_wide_faults import open_run_wide_faults
from brokertrial.suites.running.selection import PROFILES, must_match
from brokertrial.suites.since import release_of
from brokertrial.suites.situations import situations
from brokertrial.suites.situations.choice import DEEP, SAMPLE, WORDS
from brokertrial.suites.targets import ALLOWANCES, FEATURES, open_target
from brokertrial.wire.addresses import parsed

KEEP, UNPROVEN = ("all", "failed"), ("warn", "fail")
NAME, NONE = "options.json", "none"
MOST_JOBS, JOBS = 8, 4
LARGEST_DRAWN_SEED = 999_999


class RunOptions(msgspec.Struct, frozen=True):
    """What to run and how. `RunOptions("reference", select=("offsets/*",))` is enough."""

    target: str
    """A target string; `brokertrial targets` lists the forms."""
    select: tuple[str, ...] = ()
    """Patterns of case ids; empty: every case of the profile."""
    deselect: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    """Cases that run before the others, as far as they run at all."""
    cases: tuple[str, ...] = ()
    """Folders of case files outside the package (docs/extending.md)."""
    profile: str = "full"
    situations: tuple[str, ...] = ()
    """Situations that cases are met in beside the plain one: names, `sample` or `deep` (docs/situations.md)."""
    budget: float | None = None
    """Minutes; cases that do not fit are left out and listed."""
    seed: int | None = None
    """Drawn where it is not given."""
    claims: Mapping[str, bool] = {}
    """Features that the target claims (true) or disclaims (false), beyond what it claims by itself."""
    release: tuple[int, ...] = ()
    """The Apache Kafka release that the target follows; empty: as it says itself."""
    require: tuple[str, ...] = (CORE,)
    """API areas that must be offered; empty: none."""
    known: str | None = None
    """A file of known failures; read by whoever reports (brokertrial.run)."""
    gate: bool = False
    """The run is one of a gate, which says by itself what its status is, and what to do about failures."""
    min_decided: float = 0.0
    """Percent of the must cases; fewer decided are never status 0 in a report."""
    keep: str = "all"
    """Histories: `all`, or `failed` to drop those of passed cases."""
    runs: str = "runs"
    """The folder in which a run folder is made."""
    run_dir: str | None = None
    """The run folder itself, in place of a new one."""
    unproven: str = "warn"
    """What a case that is not proven on Apache Kafka may do: `warn` or `fail`."""
    jobs: int | None = None
    """Cases under way at once; from the cores where it is not given. A case that disturbs the target is alone."""
    through: str | None = None
    """A schedule (JSON) that is active from the first request to the last."""
    toxiproxy: str | None = None
    """The control port (`host:port`) of a Toxiproxy that runs already; one is started where it is not given."""
    refute: bool = False
    """Edits the responses of each case as its `detects` says: every one must fail."""
    each_alone: bool = False
    """Excuses no case by what failed in another."""
    earlier: Earlier | None = None
    """What an earlier process of this run has judged."""

    @classmethod
    def parsed(
        cls,
        target: str,
        *,
        profile: str | None = None,
        select: Sequence[str] = (),
        deselect: Sequence[str] = (),
        situation: str = "",
        cases: Sequence[str] = (),
        claims: str | None = None,
        require: str = CORE,
        known: str | None = None,
        **others: Any,
    ) -> RunOptions:
        """From the words of a command line: `claims` is a TOML file, `require` a list with commas."""
        features, release = _read_claims(claims) if claims else ({}, ())
        words = {
            **others,
            "target": target,
            "profile": profile or ("full" if select else "smoke"),
            "situations": _situations(situation, profile),
            "select": tuple(select),
            "deselect": tuple(deselect),
            "cases": tuple(str(Path(folder).resolve()) for folder in cases),
            "claims": features,
            "release": release,
            "require": _areas(require),
            "known": str(Path(known).resolve()) if known else None,
        }
        try:
            return msgspec.convert(words, cls, strict=False)
        except msgspec.ValidationError as error:
            raise BadOptions(f"{error}.") from None

    def validated(self) -> RunOptions:
        """Itself with a seed; raises BadOptions, BrokenExtension or TargetProblem where it cannot be run.

        Nothing is started.
        """
        for name, value, allowed in (
            ("profile", self.profile, PROFILES),
            ("keep", self.keep, KEEP),
            ("unproven", self.unproven, UNPROVEN),
        ):
            if value not in allowed:
                raise BadOptions(f"{name} {value!r} is none of: {', '.join(allowed)}.")
        if self.jobs is not None and self.jobs < 1:
            raise BadOptions(f"jobs {self.jobs}: at least one case is under way.")
        if self.toxiproxy is not None:
            try:
                parsed(self.toxiproxy)
            except ValueError as error:
                raise BadOptions(f"--toxiproxy: {error}") from None
        if not 0 <= self.min_decided <= 100:
            raise BadOptions(f"min_decided {self.min_decided:g} is no percentage.")
        extended.load(self.cases)
        if self.select or self.deselect:
            must_match((*self.select, *self.deselect), [*by_id(), *claims.names()])
        if self.refute and self.select:
            _must_name_edited_answers(self.select)
        if unknown := [name for name in self.situations if name not in (*situations(), *WORDS)]:
            raise BadOptions(f"situation {unknown[0]!r} is none of: {', '.join((*situations(), *WORDS))}, none.")
        _must_be_features(self.claims)
        _areas(",".join(self.require) or requirements.NONE)
        try:
            open_run_wide_faults(self.through, self.refute)
        except BadSchedule as error:
            raise BadOptions(str(error)) from None
        with Scratch("target") as scratch:
            open_target(self.target, Path(scratch))  # it is not started
        if self.seed is not None:
            return self
        return msgspec.structs.replace(self, seed=random.SystemRandom().randint(1, LARGEST_DRAWN_SEED))

    def in_folder(self) -> RunOptions:
        """Itself with a run folder, which is made where none is named."""
        if self.run_dir is not None:
            return self
        folder = run_folder.new_run(Path(self.runs), self.target, self.seed or 0)
        return msgspec.structs.replace(self, run_dir=str(folder))

    def leave(self) -> None:
        """Writes itself into its run folder, for the process that runs it."""
        folder = Path(self.run_dir or "")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / NAME).write_bytes(msgspec.json.format(msgspec.json.encode(self), indent=1))

    @classmethod
    def left_in(cls, folder: Path) -> RunOptions:
        """What was written into a run folder, with what an earlier process of the run has judged."""
        options = msgspec.json.decode((folder / NAME).read_bytes(), type=cls)
        return msgspec.structs.replace(options, run_dir=str(folder), earlier=Earlier.taken(folder))


def default_jobs() -> int:
    """Cases wait more than they work: two for each core."""
    return min(MOST_JOBS, 2 * len(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else JOBS


def _read_claims(path: str) -> tuple[dict[str, bool], tuple[int, ...]]:
    """Claims of a file: a [claims] table, or the features at the top; and the release that `kafka` names, if any."""
    if not Path(path).is_file():
        raise BadOptions(f"{path}: there is no such file.")
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        release = release_of(str(content.pop("kafka"))) if "kafka" in content else ()
    except (OSError, ValueError) as error:
        raise BadOptions(f"--claims {path}: {error}") from error
    table = content.get("claims", content)
    try:
        _must_be_features(table)
    except BadOptions as error:
        raise BadOptions(f"--claims {path}: {error.sentence}") from None
    return dict(table), release


def _must_be_features(claimed: Mapping[str, Any]) -> None:
    known = (*FEATURES, *ALLOWANCES)
    if wrong := [name for name, value in claimed.items() if name not in known or not isinstance(value, bool)]:
        raise BadOptions(f"{wrong[0]!r} is no feature set to true or false; known: {', '.join(known)}")


def _must_name_edited_answers(patterns: Sequence[str]) -> None:
    """Whether --refute has anything to apply to the cases that were chosen."""
    chosen = [case for name, case in by_id().items() if any(fnmatchcase(name, pattern) for pattern in patterns)]
    if chosen and not any(case.tampered_responses for case in chosen):
        bugs = ", ".join(dict.fromkeys(bug for case in chosen for bug in case.bugs))
        raise BadOptions(
            f"--refute: {', '.join(case.id for case in chosen[:3])} names no edited answer in `detects`.",
            f"It is seen to fail by a planted bug: --target 'reference?mutant=ID'{f' ({bugs})' if bugs else ''}.",
        )


def _situations(text: str, profile: str | None) -> tuple[str, ...]:
    """From `--situation`; where it is not given, from the profile."""
    if not text:
        return {"full": (SAMPLE,), "deep": (DEEP,)}.get(profile or "", ())
    return () if text == NONE else tuple(filter(None, text.split(",")))


def _areas(text: str) -> tuple[str, ...]:
    try:
        return requirements.parse(text)
    except requirements.UnknownArea as error:
        raise BadOptions(f"--require: {error}.") from None
