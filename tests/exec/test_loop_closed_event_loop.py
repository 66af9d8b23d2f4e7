"""An event loop that was closed while a run was under way has ended the run's calls, without a chance to say so."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

WORKER = Path(__file__).parent / "closed_loop_worker.py"


def recovered(path: Path, word: str) -> Any:
    """What the same process saw when it recovered the run."""
    made = subprocess.run(
        [sys.executable, str(WORKER), str(path), word],
        stdout=subprocess.PIPE,
        timeout=60,
        check=True,
    )
    return json.loads(made.stdout)


def test_its_call_is_asked_about_as_one_whose_worker_is_dead(tmp_path):
    """Item 86."""
    assert recovered(tmp_path / "runs.db", "ask") == {"dead": [True], "ran": [5]}


def test_a_recovery_with_a_decision_does_not_wait_for_it(tmp_path):
    """Items 87, 97."""
    found = recovered(tmp_path / "runs.db", "rerun")
    assert found == {"texts": ["go", "", "charged 5", "done"], "ran": [5, 5]}
