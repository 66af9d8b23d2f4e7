"""Agents as tools: one argument, inside the calling run, with its context, its executor and its policies."""

from typing import Any

from pydantic import BaseModel
from tests.exec.agents_kit import agent, ask, play, said, shown

from agent_adapter import (
    Executor,
    Registry,
    RunContext,
    Step,
    run_tool_loop,
    tool,
)
from agent_adapter.exec import LoopAgent, agent_tool, handoff
from agent_adapter.models import Message

OUTER = (ask("helper", task="t"),)


class Answer(BaseModel):
    n: int


async def answer_of(task: str, ctx: RunContext) -> str:
    return f"{task} for {ctx.user}"


def test_an_agent_tool_has_the_one_argument_task():
    """Item 28."""
    helper = agent(play("x"))
    schema = helper.parameters.model_json_schema()
    assert (helper.kind, helper.spec.description) == ("agent", "helps")
    assert (list(schema["properties"]), schema["required"]) == (["task"], ["task"])
    assert schema["properties"]["task"]["type"] == "string"
    assert schema["additionalProperties"] is False


def test_a_handoff_is_an_agent_tool_with_exactly_that_tag():
    """Item 31."""
    made = handoff(answer_of, name="sales", description="sells")
    assert (made.kind, made.tags, made.confirm) == ("agent", ("handoff",), False)


def test_an_agent_tool_keeps_its_tags():
    assert agent(play("x"), tags=["slow", "paid"]).tags == ("slow", "paid")


def test_first_messages_are_made_anew():
    """Item 35: the instructions and the task; without instructions the task alone."""
    made = LoopAgent(model=play("x"), tools=Registry(), instructions="be kind")
    first, second = made.first_messages("t"), made.first_messages("t")
    assert first == [Message("system", "be kind"), Message("user", "t")]
    assert first is not second
    assert first[0].extra is not second[0].extra
    bare = LoopAgent(model=play("x"), tools=Registry())
    assert bare.first_messages("t") == [Message("user", "t")]


async def test_an_agent_works_with_its_instructions_tools_and_options():
    model = play([ask("add", a=1, b=2)], "it is 3")

    @tool
    async def add(a: int, b: int) -> int:
        return a + b

    made = LoopAgent(
        model=model, tools=Registry([add]), instructions="count", request_options={"top": 1}
    )
    helper = agent_tool(made, name="helper", description="")
    result = await run_tool_loop(play(OUTER, "done"), [helper], "go", executor=Executor())
    assert said(result)[2] == ("tool", "it is 3")
    assert shown(model) == ["count", "t", "", "3"]
    request = model.requests[0]
    assert [spec.name for spec in request.tools] == ["add"]
    assert (request.options, request.stage) == ({"top": 1}, "helper")


async def test_everything_inside_gets_the_context_of_the_calling_run():
    """Item 28: the same object, also two agents deep, and in an agent that is a function."""
    seen: list[RunContext] = []

    @tool
    async def look(ctx: RunContext) -> str:
        seen.append(ctx)
        return "seen"

    async def function(task: str, ctx: RunContext) -> str:
        seen.append(ctx)
        return task

    deep = agent(play([ask("look"), ask("function", task="f")], "deep done"), look,
                 agent_tool(function, name="function", description=""), name="deep")  # fmt: skip
    helper = agent(play([ask("deep", task="d"), ask("look")], "helped"), deep, look)
    ctx = RunContext(user="ada")
    await run_tool_loop(
        play([*OUTER, ask("look")], "done"), [helper, look], "go", executor=Executor(), ctx=ctx
    )
    assert len(seen) == 4
    assert all(each is ctx for each in seen)


async def test_calls_inside_are_run_by_the_calling_executor():
    """Its guards, hooks and sinks see them; also in a plan and in a call outside any loop."""
    seen: list[str] = []

    @tool
    async def nop() -> str:
        return "ok"

    class Hook:
        def after(self, call: Any, result: Any, ctx: RunContext) -> None:
            seen.append(call.name)

    tools = [agent(play([ask("nop")], "helped"), nop)]
    executor = Executor(Registry(tools), hooks=[Hook()])
    await run_tool_loop(play(OUTER, "done"), tools, "go", executor=executor)
    assert await executor.run("helper", {"task": "t"}) == "helped"
    plan = await executor.run_plan([Step("s", "helper", {"task": "t"})])
    assert plan["s"].value == "helped"
    assert seen == ["nop", "helper"] * 3


async def test_an_executor_of_its_own_runs_the_agents_calls():
    seen: list[str] = []

    @tool
    async def nop() -> str:
        return "ok"

    class Hook:
        def __init__(self, name: str) -> None:
            self.name = name

        def after(self, call: Any, result: Any, ctx: RunContext) -> None:
            seen.append(f"{self.name} {call.name}")

    helper = agent(play([ask("nop")], "helped"), nop, executor=Executor(hooks=[Hook("own")]))
    await run_tool_loop(
        play(OUTER, "done"), [helper], "go", executor=Executor(hooks=[Hook("outer")])
    )
    assert seen == ["own nop", "outer helper"]


async def test_a_guard_of_the_calling_executor_holds_inside():
    """Item 152."""
    ran: list[str] = []

    @tool
    async def wipe() -> str:
        ran.append("wipe")
        return "ok"

    from agent_adapter.policies import Deny

    def no_wipe(call: Any, ctx: RunContext) -> Deny | None:
        return Deny("never") if call.name == "wipe" else None

    model = play([ask("wipe")], "helped")
    await run_tool_loop(
        play(OUTER, "done"), [agent(model, wipe)], "go", executor=Executor(guards=[no_wipe])
    )
    assert (ran, shown(model)[-1]) == ([], "ToolDenied: never")


async def test_an_agent_may_be_an_async_function():
    helper = agent_tool(answer_of, name="helper", description="")
    executor = Executor(Registry([helper]))
    assert await executor.run("helper", {"task": "t"}, RunContext(user="ada")) == "t for ada"


async def test_the_answer_of_an_agent_with_a_schema_is_the_value():
    helper = agent(play('{"n": 3}'), output_schema=Answer)
    assert await Executor(Registry([helper])).run("helper", {"task": "t"}) == Answer(n=3)


def test_an_agent_can_be_run_without_a_loop_of_ones_own():
    """Item 17."""
    assert Executor(Registry([agent(play("helped"))])).run_sync("helper", {"task": "t"}) == "helped"


async def test_events_tell_of_calls_inside_agents_between_the_agents_own():
    """Item 40."""
    events: list[tuple[str, str]] = []

    @tool
    async def nop() -> str:
        return "ok"

    await run_tool_loop(
        play(OUTER, "done"),
        [agent(play([ask("nop")], "helped"), nop)],
        "go",
        executor=Executor(),
        on_event=lambda event: events.append((type(event).__name__, event.call.name)),
    )
    assert events == [
        ("ToolStarted", "helper"),
        ("ToolStarted", "nop"),
        ("ToolEnded", "nop"),
        ("ToolEnded", "helper"),
    ]
