"""The page for authors of bridges: its worker keeps the contract as it stands."""

import importlib
import re
import sys
from pathlib import Path

import pytest

from agent_adapter.testing.bridges import BRIDGE, Stage

PAGE = Path(__file__).parents[1] / "docs/bridges.md"


@pytest.mark.parametrize("promise", BRIDGE[::4], ids=lambda promise: promise.__name__)
async def test_the_worker_of_the_page_keeps(
    promise, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (tmp_path / "worker_of_the_page.py").write_text(program)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "worker_of_the_page", raising=False)
    worker = importlib.import_module("worker_of_the_page").MyWorker
    await promise(Stage(worker, tmp_path))
