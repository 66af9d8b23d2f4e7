"""The examples, run as a user runs them."""

import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[1] / "examples/recovery/demo.py"

TABLE = """
tool    effects without  effects with
charge  2                1
mail    2                1
book    2                1
"""
END = """
The end:
  Ada has paid and sits in 7A.

Effects with agent-adapter, after the end: {'charge': 1, 'mail': 1, 'book': 1}
"""


@pytest.mark.timeout(200)
@pytest.mark.parametrize("framework", ["langgraph", "adk"])
def test_the_demo_shows_doubled_effects_without_and_single_ones_with_agent_adapter(
    framework: str, tmp_path: Path
) -> None:
    command = [sys.executable, str(DEMO), framework]
    ran = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert TABLE in ran.stdout
    assert "\nThe durable agent waits for a person:\n  charge({" in ran.stdout
    assert ran.stdout.endswith(END)
    assert list(tmp_path.iterdir()) == []


REFUND = [
    ("start", "paused: refund({'order': 17, 'cents': 4200}) waits for a person\n"),
    ("resume", "paused: \n"),
    ("approve", "approved: refund({'order': 17, 'cents': 4200})\n"),
    ("resume", "  -> refunding 4200 cents for order 17\ndone: Ada has her 42 euros back.\n"),
]


def test_a_refund_waits_for_a_person_and_runs_once_in_another_process(tmp_path: Path) -> None:
    script = DEMO.parents[1] / "approval/refund.py"
    for command, said in REFUND:
        ran = subprocess.run(
            [sys.executable, str(script), command],
            check=False,
            capture_output=True,
            text=True,
            cwd=tmp_path,
        )
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, said, "")
