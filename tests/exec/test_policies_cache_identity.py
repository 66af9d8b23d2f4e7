"""A cached result answers for the tool that made it, and for no other tool of that name."""

from typing import Any

from tests.exec.loop_kit import said

from agent_adapter import Executor, Registry, Tool, ToolCall, run_tool_loop, tool
from agent_adapter.exec import LoopAgent, agent_tool
from agent_adapter.testing.models import ScriptedModel

CALL = ToolCall("c", "search", {"q": "x"})


def search(index: str) -> Tool:
    @tool(name="search", cache=60, read_only=True)
    async def find(q: str) -> str:
        return f"{index}: {q}"

    return find


class Index:
    """A tool whose function is an object's method."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def find(self, q: str) -> str:
        return f"{self.name}: {q}"


async def answers(*tools: Any) -> list[tuple[Any, bool]]:
    executor = Executor()
    results = [await executor.run_call(CALL, registry=Registry([each])) for each in tools]
    return [(result.value, result.cached) for result in results]


async def test_a_tool_of_that_name_in_another_registry_answers_for_itself():
    """Item 154."""
    assert await answers(search("a"), search("b")) == [("a: x", False), ("b: x", False)]


async def test_methods_of_two_objects_answer_for_themselves():
    """Item 154."""
    made = tool(name="search", cache=60, read_only=True)
    one, other = made(Index("a").find), made(Index("b").find)
    assert await answers(one, other) == [("a: x", False), ("b: x", False)]


async def test_one_tool_in_two_registries_is_one_tool():
    """Item 154."""
    one = search("a")
    assert await answers(one, one) == [("a: x", False), ("a: x", True)]


async def test_an_agent_is_never_told_what_another_agents_tool_found():
    """Item 154: agents inherit the executor of the loop, and with it its cache."""

    def agent(name: str) -> Tool:
        model = ScriptedModel([[CALL], lambda request: request.messages[-1].text], by_history=True)
        loop = LoopAgent(model=model, tools=Registry([search(name)]))
        return agent_tool(loop, name=name, description="")

    calls = [ToolCall("1", "a", {"task": "t"})], [ToolCall("2", "b", {"task": "t"})]
    model = ScriptedModel([*calls, "end"], by_history=True)
    result = await run_tool_loop(model, [agent("a"), agent("b")], "go", executor=Executor())
    assert [text for role, text in said(result) if role == "tool"] == ["a: x", "b: x"]
