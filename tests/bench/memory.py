"""How much memory is each process of an idle instance the reason for?"""

from __future__ import annotations

from collections.abc import Iterator

from environment import Installation
from report import Row

SIZE, JOBS = 4, 100
BUDGETS_MB = {"broker 0": 70.0, "brokers 1-3, the largest": 15.0, "executors, the largest": 15.0}


def measure(installation: Installation, quick: bool) -> Iterator[Row]:
    with installation.instance("-s", str(SIZE)) as instance:
        instance.run("submit", "--quiet", "--wait", f"--cc=1-{JOBS}", "true")
        brokers = [shares(pid) for pid in instance.brokers()]
        executors = [shares(pid) for pid in instance.executors()]
    groups = {"broker 0": brokers[:1], "brokers 1-3, the largest": brokers[1:], "executors, the largest": executors}
    for name, found in groups.items():
        yield _row(name, found)


def _row(name: str, found: list[dict[str, float]]) -> Row:
    largest = max(found, key=lambda entry: entry["Pss"])
    private = largest["Private_Clean"] + largest["Private_Dirty"]
    return Row(
        f"memory of {name}",
        largest["Pss"],
        "MB",
        BUDGETS_MB[name],
        detail=f"PSS; private {private:.1f}, resident {largest['Rss']:.1f}",
        facts={"all_pss_mb": [entry["Pss"] for entry in found], "private_mb": private, "rss_mb": largest["Rss"]},
    )


def shares(pid: int) -> dict[str, float]:
    """What the kernel counts for a process, in MB. Pss: a page shared by n processes counts for 1/n in each."""
    found = {}
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        for line in file.readlines()[1:]:
            name, value, *_ = line.split()
            found[name.rstrip(":")] = int(value) * 1024 / 1e6
    return found
