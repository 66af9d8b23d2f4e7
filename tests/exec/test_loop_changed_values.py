"""A value that another call changes afterwards is told to the model as it was recorded, in this life and the next."""

import pytest
from tests.exec.loop_kit import Lab, Outage, ask, said

from agent_adapter import Registry, tool


@pytest.fixture
def lab(store) -> Lab:
    """A tool that gives the same list every time, one longer."""
    lab, seen = Lab(store), []

    @tool
    async def add(x: int) -> list[int]:
        seen.append(x)
        return seen

    lab.tools = Registry([add])
    lab.play([ask("add", x=1), ask("add", x=2)], "done")
    return lab


TOLD = [("tool", "[1]"), ("tool", "[1,2]")]


async def test_each_call_is_told_with_its_own_value(lab):
    result = await lab.run(concurrency=1)
    assert said(result)[2:4] == TOLD


async def test_a_recovered_run_tells_the_model_the_same(lab):
    """Item 105: the histories are equal."""
    lab.break_at(7)
    with pytest.raises(Outage):
        await lab.run(concurrency=1)
    assert lab.tape.writes[-2:] == ["claim done", "save done"]
    result = await lab.recover()
    assert said(result)[2:4] == TOLD
