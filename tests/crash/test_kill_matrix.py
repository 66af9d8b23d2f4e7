"""Every point of every scenario, killed: no effect twice, no lost run, no answer that nobody gave.

The short form kills at every point of one cell of each scenario and at a sample of two others. `CRASH_FULL=n` kills at
every point of every cell, and lets each run go on in n of the modes.
"""

import os
from typing import Any

import pytest

SCENARIOS = [
    "tool_node",
    "agent",
    "own_node",
    "subgraph",
    "send",
    "wrapped",
    "asking",
    "asking_one",
    "asking_agent",
    "reviewed",
    "raising",
    "task",
    "asking_node",
    "asking_task",
]
CELLS: list[dict[str, Any]] = [
    {"saver": saver, "durability": durability, "named": durability == "exit"}
    for durability in ("async", "sync", "exit")
    for saver in ("SqliteSaver", "AsyncSqliteSaver")
]
# How the run goes on, how the person answers, and what the person says of a call in doubt.
MODES = [
    ["none", "id", "honest"],
    ["idle", "bare", "respond"],
    ["again", "bare", "honest"],
    ["idle", "id", "honest"],
    ["none", "bare", "reject"],
    ["twice", "id", "honest"],
    ["again", "id", "respond"],
    ["twice", "bare", "respond"],
    ["idle", "bare", "honest"],
    ["named", "bare", "respond"],
]
FRESH = [["fresh", "id", "honest"], ["fresh", "bare", "respond"]]
FULL = int(os.environ.get("CRASH_FULL") or 0)
SAMPLE = 23
# Another graph has the same calls, and is killed at every point in the short form too.
SAMPLED = {"asking_one"}


def jobs() -> list[Any]:
    """Every cell of the matrix, or the short form's choice: one whole cell and two sampled ones a scenario."""
    found = []
    for row, scenario in enumerate(SCENARIOS):
        for column, cell in enumerate(CELLS):
            turned = (column - row) % len(CELLS)
            whole = FULL or (turned == 0 and scenario not in SAMPLED)
            if whole or turned in (0, 2, 3):
                strided = {"stride": 1 if whole else SAMPLE}
                shift = row * len(CELLS) + column
                modes = [*MODES, *FRESH] if cell["named"] else MODES
                modes = modes[shift % len(modes) :] + modes[: shift % len(modes)]
                job = {
                    "cell": {"scenario": scenario, **cell},
                    "modes": modes,
                    "depth": max(FULL, 1),
                }
                name = f"{scenario}-{cell['saver']}-{cell['durability']}"
                found.append(pytest.param({**job, **strided}, id=name))
    return found


@pytest.mark.timeout(7200 if FULL else 600)
@pytest.mark.parametrize("job", jobs())
def test_a_killed_run_goes_on_without_doing_anything_twice(
    lab: Any, tabled: dict[str, Any], job: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    report = lab.run(**job)
    tabled[request.node.callspec.id] = report
    assert report["unharmed"]["bad"] == []
    assert report["bad"] == []
    assert report["kills"] == report["chains"] > 0
    assert report["duplicates"] == 0


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_exit_durability_without_a_name_is_refused_before_anything_happens(
    lab: Any, scenario: str
) -> None:
    cell = {"scenario": scenario, "durability": "exit"}
    unharmed = lab.run(cell=cell, modes=MODES[:1], kills=[])["unharmed"]
    assert unharmed["effects"] == {}
    assert unharmed["error"].startswith("UnstableVisit: ")
    assert "agent_adapter_run" in unharmed["error"]
