"""Executor.run_plan: order of needs, parallel steps, skipped dependents, and what is refused (item 156)."""

import asyncio

import pytest

from agent_adapter import Executor, Registry, ToolError, ToolUsageError, tool
from agent_adapter.exec import Ref, Step


class Bench:
    """Tools that log their calls; `hold` waits until it is told to go on."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.go = asyncio.Event()

        @tool
        async def ok(name: str) -> str:
            self.log.append(name)
            return name

        @tool
        async def bad(name: str) -> str:
            self.log.append(name)
            raise ValueError(name)

        @tool
        async def hold(name: str) -> str:
            self.log.append(name)
            await self.go.wait()
            return name

        self.executor = Executor(Registry([ok, bad, hold]))

    async def begun(self, count: int) -> None:
        for _ in range(200):
            if len(self.log) >= count:
                return
            await asyncio.sleep(0)
        raise AssertionError(self.log)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def step(name: str, kind: str = "ok", *needs: str, **more) -> Step:
    return Step(name, kind, {"name": name}, needs=needs, **more)


def skipped(why: str) -> ToolError:
    return ToolError("skipped", "Skipped", f"of what it needs, {why}")


async def test_a_step_runs_after_what_it_needs_and_the_results_keep_the_input_order(bench):
    """Item 156."""
    results = await bench.executor.run_plan(
        [step("d", "ok", "b", "c"), step("c", "ok", "a"), step("b", "ok", "a"), step("a")]
    )
    assert bench.log == ["a", "c", "b", "d"]
    assert [(name, r.call_id, r.tool, r.value) for name, r in results.items()] == [
        (name, name, "ok", name) for name in "dcba"
    ]


async def test_independent_steps_run_at_once(bench):
    """Item 156."""
    both = asyncio.Barrier(2)

    @tool
    async def meet() -> int:
        return await both.wait()

    results = await bench.executor.run_plan([Step("a", meet), Step("b", meet)])
    assert sorted(result.value for result in results.values()) == [0, 1]


async def test_no_more_than_the_limit_run_at_once_and_they_start_in_input_order(bench):
    """Item 156."""
    plan = [step(name, "hold") for name in "abcd"]
    working = asyncio.create_task(bench.executor.run_plan(plan, concurrency=2))
    await bench.begun(2)
    for _ in range(20):
        await asyncio.sleep(0)
    assert bench.log == ["a", "b"]
    bench.go.set()
    assert [r.value for r in (await working).values()] == list("abcd")
    assert bench.log == list("abcd")


async def test_a_step_does_not_wait_for_steps_that_it_does_not_need(bench):
    """Item 156: no waves."""
    plan = [step("slow", "hold"), step("a"), step("b", "ok", "a")]
    working = asyncio.create_task(bench.executor.run_plan(plan))
    await bench.begun(3)
    assert bench.log == ["slow", "a", "b"]
    bench.go.set()
    assert all(result.ok for result in (await working).values())


async def test_what_needs_a_failed_step_is_skipped_and_all_else_runs(bench):
    """Item 156."""
    results = await bench.executor.run_plan(
        [
            step("a", "bad"),
            step("b", "ok", "a"),
            step("c", "ok", "b"),
            step("d", "ok", "c", "a", "e"),
            step("e"),
        ]
    )
    assert bench.log == ["a", "e"]
    assert [r.status for r in results.values()] == ["error", *["cancelled"] * 3, "ok"]
    assert results["b"].error == skipped("'a' failed")
    assert results["c"].error == skipped("'b' was skipped")
    assert results["d"].error == skipped("'c' was skipped, 'a' failed")


async def test_what_needs_a_step_without_a_tool_is_skipped(bench):
    results = await bench.executor.run_plan([step("a", "missing"), step("b", "ok", "a")])
    assert (results["a"].error.kind, results["b"].error) == ("not_found", skipped("'a' failed"))


async def test_what_needs_a_denied_step_is_skipped():
    """Item 156."""
    ran = []
    guarded = tool(name="guarded")(lambda: ran.append("guarded"))
    after = tool(name="after")(lambda: ran.append("after"))
    executor = Executor(guards=[broken_guard])
    results = await executor.run_plan([Step("a", guarded), Step("b", after, needs=["a"])])
    assert [r.status for r in results.values()] == ["denied", "cancelled"]
    assert results["b"].error == skipped("'a' was denied")
    assert ran == []


def broken_guard(call, ctx):
    raise ValueError("closed")


def circle(*names: str) -> list[Step]:
    return [
        step(name, "ok", need) for name, need in zip(names, [*names[1:], names[0]], strict=True)
    ]


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ([step("a"), step("a")], "two steps have the id 'a'"),
        ([step("a"), step("b", "ok", "c")], "step 'b' needs 'c', which is no step of this plan"),
        ([step("a"), Step("b", "ok", {"name": Ref("c.x")})], "step 'b' needs 'c', which is no"),
        (circle("a", "b", "c"), "in a circle: 'a' needs 'b' needs 'c' needs 'a'"),
        (circle("a"), "in a circle: 'a' needs 'a'"),
        ([step("z"), Step("a", "ok", {"name": Ref("a")})], "in a circle: 'a' needs 'a'"),
        ([step("a"), {"id": "b"}], "is no Step"),
    ],
)
async def test_a_plan_that_cannot_be_carried_out_is_refused_and_nothing_runs(bench, plan, message):
    """Item 156."""
    with pytest.raises(ToolUsageError, match=message):
        await bench.executor.run_plan([step("first"), *plan])
    assert bench.log == []


@pytest.mark.parametrize("wrong", [{"on_error": "raise"}, {"concurrency": 0}])
async def test_a_wrong_option_is_refused_and_nothing_runs(bench, wrong):
    with pytest.raises(ToolUsageError, match=next(iter(wrong))):
        await bench.executor.run_plan([step("a")], **wrong)
    assert bench.log == []


async def test_no_steps_give_no_results(bench):
    assert await bench.executor.run_plan([]) == {}


async def test_a_tool_itself_may_stand_in_a_step():
    @tool
    def double(x: int) -> int:
        return 2 * x

    results = await Executor().run_plan(iter([Step("a", double, {"x": 2})]))
    assert (results["a"].value, results["a"].tool) == (4, "double")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"id": ""}, "id is text without a dot"),
        ({"id": "a.b"}, "id is text without a dot"),
        ({"id": 1}, "id is text without a dot"),
        ({"tool": 5}, "step 'a': tool is a name or a Tool, not 5"),
        ({"args": [1]}, r"step 'a': args is a mapping by name, not \[1\]"),
        ({"args": {1: 2}}, "step 'a': args has a key that is no text"),
        ({"needs": "b"}, "step 'a': needs is a list of step ids, not 'b'"),
        ({"needs": [1]}, "step 'a': needs is a list of step ids"),
        ({"when": True}, "step 'a': when is None or a plain function"),
        ({"when": asyncio.sleep}, "step 'a': when is None or a plain function"),
    ],
)
def test_a_malformed_step_is_refused(fields, message):
    """Item 156."""
    with pytest.raises(ToolUsageError, match=message):
        Step(**{"id": "a", "tool": "ok", **fields})
