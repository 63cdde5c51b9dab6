"""The plugin as a person starts it: a process of its own, on the bundled broker."""

import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from brokertrial.checkers.verdict import Verdict
from brokertrial.suites.running import plugin
from brokertrial.suites.running.bad_options import BadOptions
from brokertrial.suites.running.options import RunOptions
from brokertrial.suites.running.rejudge import judge_stored

pytestmark = pytest.mark.long

CHECKOUT = Path(__file__).resolve().parents[2]
LIMIT_S = 120


def command(run_dir: Path, *arguments: str) -> list[str]:
    return [
        sys.executable,
        "-P",
        "-m",
        "pytest",
        "-p",
        "brokertrial",
        "-p",
        "no:cacheprovider",
        "-q",
        "--target",
        "reference",
        "--unproven",
        "fail",
        "--run-dir",
        str(run_dir),
        *arguments,
    ]


def run(run_dir: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(run_dir, *arguments), capture_output=True, text=True, timeout=LIMIT_S, cwd=CHECKOUT)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    done = run(folder, "--select", "offsets/by-time-within-a-batch", "--select", "produce/base-offset")
    return folder, done


def test_a_clean_broker_passes(finished):
    _, done = finished
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_each_case_left_a_history_that_is_judged_the_same(finished):
    folder, _ = finished
    histories = sorted((folder / "histories").iterdir())
    assert [path.name for path in histories] == ["offsets.by-time-within-a-batch", "produce.base-offset"]
    for path in histories:
        assert judge_stored(path).verdict is Verdict.PASS


def test_a_run_says_which_names_are_its_own(finished):
    folder, _ = finished
    ours = msgspec.json.decode((folder / "ours.json").read_bytes())
    names = [msgspec.json.decode(line) for line in (folder / "names.jsonl").read_bytes().splitlines()]
    assert names and all(name.startswith(f"{ours['prefix']}-") for name in names)


def test_an_unknown_case_is_4_and_offers_the_nearest(tmp_path):
    done = run(tmp_path, "--select", "offsets/by-time-within-a-bach")
    assert done.returncode == 4
    assert "offsets/by-time-within-a-batch" in done.stdout + done.stderr


def test_an_unknown_target_is_4_and_an_unreachable_one_7(tmp_path):
    done = run(tmp_path / "a", "--select", "produce/base-offset", "--target", "refrence")
    assert done.returncode == 4, done.stdout
    done = run(tmp_path / "b", "--select", "produce/base-offset", "--target", "bootstrap:127.0.0.1:1")
    assert done.returncode == 7, done.stdout


def test_a_planted_bug_is_1_with_the_field_that_is_wrong(tmp_path):
    done = run(tmp_path, "--select", "produce/base-offset", "--target", "reference?mutant=M07a")
    assert done.returncode == 1, done.stdout
    assert ">>" in done.stdout and "base_offset" in done.stdout


def test_nothing_judged_is_never_0(tmp_path):
    done = run(tmp_path, "--select", "offsets/*", "--deselect", "offsets/*")
    assert done.returncode == 5, done.stdout


def test_a_broken_claim_is_a_failure(tmp_path):
    claims = tmp_path / "claims.toml"
    claims.write_text("[claims]\nshare-groups = true\n")
    done = run(tmp_path / "run", "--select", "produce/base-offset", "--claims", str(claims))
    assert done.returncode == 1, done.stdout
    unasked = ("--claims", str(claims), "--deselect", "claims/share-groups")
    assert run(tmp_path / "unasked", "--select", "produce/base-offset", *unasked).returncode == 0
    claims.write_text("[claims]\ntelepathy = true\n")
    assert run(tmp_path / "other", "--select", "produce/base-offset", "--claims", str(claims)).returncode == 4


def test_a_claims_file_may_name_the_release_that_the_broker_follows(tmp_path):
    claims = tmp_path / "claims.toml"
    claims.write_text('kafka = "3.5"\n[claims]\ntransactions = true\n')
    options = RunOptions.parsed("reference", claims=str(claims))
    assert (options.claims, options.release) == ({"transactions": True}, (3, 5))
    claims.write_text('kafka = "3.5"\ntransactions = true\n')
    assert RunOptions.parsed("reference", claims=str(claims)) == options
    claims.write_text('kafka = "new"\n')
    with pytest.raises(BadOptions, match="no Apache Kafka release"):
        RunOptions.parsed("reference", claims=str(claims))


def test_what_is_required_and_not_offered_is_a_failure_unless_nothing_is_required(tmp_path):
    hidden = ("--select", "produce/base-offset", "--target", "reference?without=JoinGroup", "--deselect", "claims/*")
    assert run(tmp_path / "core", *hidden).returncode == 1
    assert run(tmp_path / "named", *hidden, "--require", "data,topics,commits").returncode == 0
    assert run(tmp_path / "none", *hidden, "--require", "none").returncode == 0
    done = run(tmp_path / "what", *hidden, "--require", "telepathy")
    assert done.returncode == 4 and "`telepathy` is no area" in done.stdout + done.stderr


def test_a_term_signal_in_the_middle_of_a_trial_is_2_and_leaves_nothing_running(tmp_path):
    process = subprocess.Popen(
        command(tmp_path, "--select", "produce/acked-survive-a-kill"), stdout=subprocess.PIPE, text=True, cwd=CHECKOUT
    )
    try:
        records = tmp_path / "histories" / "produce.acked-survive-a-kill" / "records"
        watch = Watch(LIMIT_S, "the trial sends records")
        while not list(records.glob("*.parquet")):
            watch.look(process)
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=LIMIT_S)
        assert process.returncode == 2, output
    finally:
        process.kill()
        process.wait()
    left = subprocess.run(["pgrep", "-f", str(tmp_path)], capture_output=True, text=True).stdout
    assert not left.strip(), left


def test_a_signal_where_python_knows_no_line_is_shown_like_any_other():
    def anywhere(_):
        raise KeyboardInterrupt

    anywhere.__code__ = anywhere.__code__.replace(co_linetable=b"")  # drawing that ends in a TypeError
    config = SimpleNamespace(stash={plugin.ADAPTER: SimpleNamespace(judge=anywhere)})
    item = SimpleNamespace(config=config)
    with pytest.raises(KeyboardInterrupt) as shown:
        plugin._CaseItem.runtest(item)
    assert "KeyboardInterrupt" in str(shown.getrepr(funcargs=True))


class Watch:
    """Waits for something with a deadline that says what it was."""

    def __init__(self, seconds: float, what: str) -> None:
        import threading
        import time

        self.what, self._until, self._now = what, time.monotonic() + seconds, time.monotonic
        self._pause = threading.Event().wait

    def look(self, process: "subprocess.Popen[str]") -> None:
        assert process.poll() is None, f"the run ended before {self.what}"
        assert self._now() < self._until, f"not in time: {self.what}"
        self._pause(0.05)


def test_the_project_file_is_where_the_plugin_expects_the_suite():
    assert tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["name"] == "brokertrial"
