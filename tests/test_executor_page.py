"""The page on running calls without a framework: its programs do what it says."""

import re
from pathlib import Path

import pytest

from agent_adapter import ToolCall
from agent_adapter.testing.models import ScriptedModel

PAGE = Path(__file__).parents[1] / "docs/executor.md"


def test_the_programs_of_the_page_run_as_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    call = ToolCall("call-1", "charge", {"customer": "Ada", "cents": 500})
    names = {"model": ScriptedModel([[call], "Ada paid five euros."], by_history=True)}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), names)  # noqa: S102 - the page's own programs
    assert capfd.readouterr().out.splitlines() == [
        "paused [{'customer': 'Ada', 'cents': 500}]",
        "done Ada paid five euros.",
        "denied who pays?",
        "page fares/1",
    ]
