"""What a process of ours holds in memory, as Linux tells it (/proc/PID/status); None where that cannot be read."""

from __future__ import annotations

from pathlib import Path


def resident_now(pid: int) -> int | None:
    """MiB held now; the peak is counted from here on."""
    try:
        Path(f"/proc/{pid}/clear_refs").write_text("5")
    except OSError:
        return None  # the peak is then that of its whole life, and says nothing of this case
    return _mib(pid, "VmRSS:")


def resident_peak(pid: int) -> int | None:
    """The most that was held at one time since `resident_now`, in MiB."""
    return _mib(pid, "VmHWM:")


def _mib(pid: int, name: str) -> int | None:
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) // 1024 for line in lines if line.startswith(name)), None)
