"""A Jepsen file of a million lines: how much its import costs beside plain decoding of the same lines, and its memory.

    python -m bench.foreign [lines] [--engine duckdb|spark] [--scratch FOLDER]        default 1000000

In one run, on one file of JSON Lines (ten processes that send to, and poll, twenty keys; one acknowledged write is read
by nobody): every line decoded by msgspec into plain lists and maps, which is the least that any reader must do; our
reader of operations; the whole import into a history on disk; the checks. Each in a process of its own, so that the
memory is its own: wall seconds, seconds of CPU, and the most that it held. The planted loss, with the polls that passed
it by, must be all that is found.
"""

import argparse
import multiprocessing
import os
import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

PROCESSES, KEYS, POLLED = 10, 20, 5
MIB = 1024


def story(lines: int, seed: int = 1) -> Iterator[dict[str, object]]:
    """Legal but for one write: each process sends to, or polls, keys in turn; the first reads all to the end."""
    random_ = random.Random(seed)
    written = [0] * KEYS
    places = [[0] * KEYS for _ in range(PROCESSES)]
    lost: int | None = None
    for process in range(PROCESSES):
        yield {"process": process, "type": "ok", "f": "assign", "value": list(range(KEYS))}
    for number in range((lines - PROCESSES - KEYS) // 2):
        process, key = random_.randrange(PROCESSES), random_.randrange(KEYS)
        if random_.random() < 0.4:
            offset, written[key] = written[key], written[key] + 1
            if lost is None and key == 0 and number > lines // 4:
                lost = offset
            f, asked, told = "send", ["send", key, offset], ["send", key, [offset, offset]]
        else:
            begin = places[process][key]
            end = places[process][key] = min(written[key], begin + POLLED)
            read = [[offset, offset] for offset in range(begin, end) if key or offset != lost]
            f, asked, told = "poll", ["poll"], ["poll", {str(key): read}]
        for kind, value in (("invoke", asked), ("ok", told)):
            yield {"process": process, "type": kind, "f": f, "value": [value]}
    for key, begin in enumerate(places[0]):
        rest = [[offset, offset] for offset in range(begin, written[key]) if key or offset != lost]
        yield {"process": 0, "type": "ok", "f": "poll", "value": [["poll", {str(key): rest}]]}


def write(file: Path, lines: int) -> None:
    """The story as JSON Lines."""
    encode = msgspec.json.Encoder().encode
    with file.open("wb") as out:
        for index, line in enumerate(story(lines)):
            out.write(encode({"index": index, "time": index * 1000, **line}) + b"\n")


def decode(file: Path, scratch: Path) -> int:
    """Plain decoding."""
    plain = msgspec.json.Decoder().decode
    with file.open("rb") as content:
        return sum(1 for text in content if plain(text))


def read(file: Path, scratch: Path) -> int:
    """Our reader of operations."""
    from brokertrial.histories.formats.jepsen_lines import lines_of

    return sum(1 for _ in lines_of(file))


def imported(file: Path, scratch: Path) -> int:
    """The import into a history."""
    from brokertrial.histories.formats.jepsen import import_jepsen
    from brokertrial.histories.formats.settings import Settings

    return import_jepsen(file, scratch / "history", Settings.of("")).operations


def judged(file: Path, scratch: Path, engine: str = "duckdb") -> int:
    """All of Jepsen's checks on what was imported; exactly the planted loss."""
    from brokertrial.checkers.jepsen import jepsen_checks
    from brokertrial.checkers.judge import judge_by
    from brokertrial.ci.engines import opened
    from brokertrial.histories.reader import History

    history = History.open(scratch / "history")
    with opened(engine, [history]) as engine_:
        judgement = judge_by(jepsen_checks().values(), engine_, [history])[0]
    found = {name.rpartition("/")[2]: total for name, total in judgement.totals.items()}
    if found.keys() - {"int-poll-skip", "poll-skip"} != {"lost-write", "unseen"} or found["lost-write"] != 1:
        raise SystemExit(f"found {found}; the planted loss alone was expected, with the polls that passed it by")
    print(f"  found: {judgement.anomalies[0].sentence}", flush=True)
    return len(judgement.anomalies)


def judged_on_spark(file: Path, scratch: Path) -> int:
    """The same on Spark, in the memory that its own settings give it."""
    return judged(file, scratch, "spark")


def measured(work: Callable[[Path, Path], int], file: Path, scratch: Path) -> tuple[float, float, float]:
    """Wall seconds, seconds of CPU and the most memory in MiB, of a process that does nothing else."""
    answer = multiprocessing.get_context("spawn").SimpleQueue()
    begin = time.monotonic()
    child = multiprocessing.get_context("spawn").Process(target=_measure, args=(work, file, scratch, answer))
    child.start()
    child.join()
    if child.exitcode:
        raise SystemExit(f"{work.__name__} ended with {child.exitcode}")
    cpu, memory = answer.get()
    return time.monotonic() - begin, cpu, memory


def _measure(
    work: Callable[[Path, Path], int],
    file: Path,
    scratch: Path,
    answer: "multiprocessing.queues.SimpleQueue[tuple[float, float]]",
) -> None:
    work(file, scratch)
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    answer.put((sum(used.ru_utime + used.ru_stime for used in both), max(used.ru_maxrss for used in both) / MIB))


def main() -> None:
    """Prints a line for each step; what was made is deleted at the end."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lines", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--engine", choices=("duckdb", "spark"), default="duckdb")
    parser.add_argument("--scratch", type=Path, default=None)
    asked = parser.parse_args()
    steps = {"decoded by msgspec": decode, "read as operations": read, "imported": imported, "judged": judged}
    if asked.engine == "spark":
        steps["judged on Spark"] = judged_on_spark
    with tempfile.TemporaryDirectory(dir=asked.scratch) as folder:
        file = Path(folder) / "history.jsonl"
        write(file, asked.lines)
        print(f"{asked.lines:,} lines, {file.stat().st_size / 1e6:.0f} MB, load {os.getloadavg()[0]:.0f}", flush=True)
        least = 0.0
        for name, work in steps.items():
            wall, cpu, memory = measured(work, file, Path(folder))
            least = least or cpu
            print(
                f"  {name}: {wall:.1f} s, CPU {cpu:.1f} s ({cpu / least:.1f} times the decoding), "
                f"{asked.lines / cpu:,.0f} lines a second of CPU, {memory:.0f} MiB at most",
                flush=True,
            )


if __name__ == "__main__":
    main()
