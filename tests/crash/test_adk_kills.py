"""Every point of every ADK scenario, killed: no effect twice, nothing lost, and nobody is asked twice for one thing.

The short form kills at every point of a few scenarios and at a sample of the points of the others. `CRASH_FULL=n` kills at
every point of each, over both session services, and lets each run go on in n of the modes.
"""

import os
from typing import Any

import pytest

FULL = int(os.environ.get("CRASH_FULL") or 0)
SERVICES = ["sqlite", "database"]
# How the run goes on, and what the person says.
MODES = ["once", "twice", "idle", "single", "plain", "rerun", "respond", "thrice", "reject"]
# How many points the short form kills at, spread over the run; all of them without a number.
SCENARIOS: dict[str, int | None] = {
    "parallel": None,
    "no_ids": 2,
    "equal": 4,
    "reused_ids": 3,
    "reused_asking": 3,
    "idempotent": 3,
    "confirm_native": None,
    "confirm_policy": 4,
    "confirm_dynamic": 3,
    "confirm_alone": 3,
    "confirm_again": 4,
    "raising": 4,
    "raising_alone": 3,
    "long_running": 4,
    "sequential": 3,
    "sequential_asking": 4,
    "parallel_agents": 3,
    "parallel_asking": 4,
    "loop": 3,
    "transfer": 3,
    "transfer_later": 3,
    "transfer_asking": 3,
    "agent_tool": 4,
    "agent_tool_drifting": 4,
    "agent_tools_asking": 4,
    "agent_tool_asking_drifting": 3,
    "agent_tool_deep": 3,
    "agent_tools_policy": 4,
    "agent_tool_policy_drifting": 3,
    "agent_tool_deep_policy": 3,
    "single_turn": 3,
    "single_turn_drifting": 4,
    "single_turn_asking": 4,
    "task": 3,
    "mcp": 4,
    "named": 4,
    "named_asking": 4,
    "named_agent_tool": 3,
    "two_runs": 4,
    "next_message": 4,
    "agent_node": 3,
    "agent_node_drifting": None,
    "agent_node_asking": 4,
    "agent_node_asking_drifting": 4,
    "agent_nodes": 3,
    "agent_nodes_asking": 4,
    "tool_nodes": 3,
    "tool_node_asking": 4,
    "tool_node_policy": 3,
    "tool_node_raising": 4,
    "steps": 4,
    "tool_node_timeout": 3,
    "agent_node_timeout": 3,
}


def jobs() -> list[Any]:
    """Each scenario with one of the services in turn; with both in the full form."""
    found = []
    for row, (scenario, sample) in enumerate(SCENARIOS.items()):
        for service in SERVICES if FULL else [SERVICES[row % 2]]:
            modes = MODES[row % len(MODES) :] + MODES[: row % len(MODES)]
            job: dict[str, Any] = {"modes": modes, "depth": max(FULL, 1)}
            if sample and not FULL:
                job["sample"] = sample
            cell = {"scenario": scenario, "service": service}
            found.append(pytest.param({"cell": cell, **job}, id=f"{scenario}-{service}"))
    return found


@pytest.mark.timeout(7200 if FULL else 180)
@pytest.mark.parametrize("job", jobs())
def test_a_killed_agent_goes_on_without_doing_anything_twice(
    adk_lab: Any, tabled: dict[str, Any], job: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    report = adk_lab.run(**job)
    tabled[f"adk-{request.node.callspec.id}"] = report
    assert report["unharmed"] == []
    assert report["bad"] == []
    assert report["kills"] >= report["chains"] > 0
    assert report["duplicates"] == 0


@pytest.mark.timeout(180)
@pytest.mark.parametrize("scenario", ["parallel", "agent_tool", "agent_node_drifting"])
@pytest.mark.parametrize("service", SERVICES)
def test_without_the_plugin_a_killed_agent_does_things_twice(
    adk_lab: Any, scenario: str, service: str
) -> None:
    """The red control: the same harness sees what it is there to see."""
    cell = {"scenario": scenario, "service": service, "protected": False}
    report = adk_lab.run(cell=cell, modes=["once"], sample=5)
    assert report["unharmed"] == []
    assert report["kills"] == report["chains"]
    assert report["duplicates"] > 0
    assert len(report["bad"]) >= report["duplicates"]
