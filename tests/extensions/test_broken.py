"""A contribution that cannot be used is one sentence with the package and the file, and a usage error."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.extensions.environment import Environment, package

GOOD = '''"""Cases."""

from brokertrial.suites.case import case


@case("{name}", guarantee="{guarantee}")
def first(wire, topic):
    """A record MUST be written."""
    wire.produce(topic, "a")
'''
TARGET = '''"""A target."""

from brokertrial.suites.targets.reference import Reference


class Mine(Reference):
    """Ours again."""

    scheme = "reference"
'''
USAGE = 4


def case_file(name: str = "mine/one", guarantee: str = "prod-001") -> str:
    return GOOD.format(name=name, guarantee=guarantee)


@pytest.mark.parametrize(
    ("group", "files", "value", "said"),
    [
        ("cases", {"cases.py": "import nothing_of_this_name\n"}, "broken_one.cases", "ModuleNotFoundError"),
        ("cases", {"cases.py": "def broken(:\n"}, "broken_one.cases", "SyntaxError"),
        ("cases", {}, "broken_one.cases", "there is no such module"),
        ("cases", {"cases.py": case_file(guarantee="prod-9999")}, "broken_one.cases", "no guarantee 'prod-9999'"),
        (
            "cases",
            {"cases.py": case_file("produce/base-offset")},
            "broken_one.cases",
            "'produce/base-offset' is in brok",
        ),
        ("checks", {"check.py": 'NAME = "mine"\n'}, "broken_one.check", "no attribute 'GUARANTEE'"),
        ("faults", {"fault.py": "raise SystemExit(3)\n"}, "broken_one.fault", "SystemExit: 3"),
        ("targets", {"target.py": TARGET}, "broken_one.target", "'reference' is in brokertrial and again in"),
    ],
    ids=["import", "syntax", "no module", "guarantee", "case twice", "check", "fault", "target twice"],
)
def test_one_sentence(tmp_path: Path, group: str, files: dict[str, str], value: str, said: str) -> None:
    environment = Environment(tmp_path / "env")
    environment.install(package(tmp_path, "broken-one", files, **{group: value}))
    done = environment.run("run", "--target", "reference", "--select", "offsets/ends", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (USAGE, ""), done.stdout + done.stderr
    assert done.stderr.count("\n") == 1 and "Traceback" not in done.stderr
    assert "broken-one 0.1" in done.stderr and said in done.stderr
    assert not files or str(environment.packages / "broken_one" / next(iter(files))) in done.stderr
    assert not (tmp_path / "runs").exists()


def test_two_packages_with_one_id_are_both_named(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "env")
    for name in ("one", "two"):
        module = f"mine_{name}.cases"
        environment.install(package(tmp_path, f"mine-{name}", {"cases.py": case_file()}, cases=module))
    done = environment.run("cases", cwd=tmp_path)
    assert done.returncode == USAGE
    assert "'mine/one' is in mine-one 0.1 and again in mine-two 0.1: " in done.stderr


def test_two_guarantees_with_one_id(tmp_path: Path) -> None:
    row = '[[guarantee]]\nid = "prod-001"\nlevel = "must"\n'
    row += "".join(f'{name} = "x"\n' for name in ("statement", "as_written", "source", "link"))
    environment = Environment(tmp_path / "env")
    files = {"cases.py": case_file(), "mine.toml": row}
    environment.install(package(tmp_path, "mine", files, cases="mine.cases"))
    done = environment.run("cases", cwd=tmp_path)
    assert done.returncode == USAGE
    assert "guarantee 'prod-001' is in" in done.stderr and "produce.toml and again in" in done.stderr
