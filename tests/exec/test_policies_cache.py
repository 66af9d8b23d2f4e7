"""The result cache: what answers equal calls, and what never gets in (item 154)."""

import dataclasses
from typing import Any

import pytest

from agent_adapter import (
    ApprovalDecision,
    ConfigError,
    Executor,
    Registry,
    RunContext,
    ToolCall,
    tool,
)
from agent_adapter.exec.integration import make_journal, visit_scope
from agent_adapter.policies import Deny, Guard, MemoryCache, Replace, ToolPolicy


@dataclasses.dataclass
class Report:
    lines: list[str]


class Noting:
    """A cache that notes what it is asked, around one that works."""

    def __init__(self, inner=None) -> None:
        self.log: list[str] = []
        self.inner = inner or MemoryCache()

    async def get(self, key: str) -> Any:
        self.log.append("get")
        return await self.inner.get(key)

    async def put(self, key: str, value: Any, ttl_s: float) -> None:
        self.log.append(f"put for {ttl_s}")
        await self.inner.put(key, value, ttl_s)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Bench:
    """A tool `look` with a cache of 60 seconds that counts its runs."""

    def __init__(self, **settings: Any) -> None:
        self.ran = 0
        self.fails = False
        self.cache = settings.setdefault("cache", Noting())

        @tool(read_only=True, cache=60, **settings.pop("policy", {}))
        def look(x: Any = 1) -> Report:
            self.ran += 1
            if self.fails:
                raise ValueError("no")
            return Report([f"look {self.ran}"])

        self.executor = Executor(Registry([look]), **settings)

    async def call(self, x: Any = 1, ctx: RunContext | None = None):
        return await self.executor.run_call(ToolCall("c", "look", {"x": x}), ctx)


async def test_an_equal_call_is_answered_from_the_cache_with_an_equal_value_of_its_own():
    bench = Bench()
    first, second = await bench.call(), await bench.call()
    assert (first.cached, second.cached, bench.ran) == (False, True, 1)
    assert (second.value, second.call_id, second.attempts) == (Report(["look 1"]), "c", 0)
    second.value.lines.append("changed")
    assert (await bench.call()).value == Report(["look 1"])


@pytest.mark.parametrize(
    ("x", "ctx"),
    [(2, None), ("1", None), (1.0, None), (1, RunContext(user="eve")), (1, RunContext(tenant="b"))],
    ids=str,
)
async def test_other_arguments_another_user_or_another_tenant_is_another_call(x, ctx):
    bench = Bench()
    await bench.call(1)
    assert ((await bench.call(x, ctx)).cached, bench.ran) == (False, 2)


async def test_after_its_seconds_a_result_is_gone():
    clock = Clock()
    bench = Bench(cache=MemoryCache(clock=clock))
    await bench.call()
    clock.now = 59.9
    assert (await bench.call()).cached
    clock.now = 60.0
    assert not (await bench.call()).cached


async def test_what_was_not_used_for_longest_makes_room():
    cache = MemoryCache(max_entries=2)
    for key in "ab":
        await cache.put(key, key, 60)
    await cache.get("a")
    await cache.put("c", "c", 60)
    assert [await cache.get(key) for key in "abc"] == ["a", None, "c"]


async def test_a_failed_call_is_not_kept():
    """Item 154."""
    bench = Bench()
    bench.fails = True
    await bench.call()
    bench.fails = False
    assert ((await bench.call()).value, bench.cache.log) == (
        Report(["look 2"]),
        ["get", "get", "put for 60"],
    )


class Withhold(Guard):
    def after(self, call, value, ctx):
        return Deny("private")


async def test_a_denied_call_and_a_withheld_value_are_not_kept():
    """Item 154."""
    bench = Bench(guards=(lambda call, ctx: Deny("no"),))
    await bench.call()
    assert (bench.cache.log, bench.ran) == ([], 0)
    bench = Bench(guards=(Withhold(),))
    await bench.call()
    assert (bench.cache.log, bench.ran) == (["get"], 1)


class Port:
    def __init__(self, answer: ApprovalDecision | None) -> None:
        self.answer = answer

    async def request(self, request, ctx):
        return self.answer


@pytest.mark.parametrize(
    "answer", [None, ApprovalDecision(approved=False)], ids=["pending", "denied"]
)
async def test_a_call_that_waits_or_was_refused_neither_reads_nor_fills_the_cache(answer):
    """Item 154."""
    bench = Bench(policy={"confirm": True}, approvals=Port(answer))
    result = await bench.call()
    assert (result.status, bench.cache.log) == ("denied" if answer else "pending", [])


async def test_a_person_is_asked_for_a_cached_call_too():
    port = Port(ApprovalDecision(approved=True))
    bench = Bench(policy={"confirm": True}, approvals=port)
    await bench.call()
    port.answer = ApprovalDecision(approved=False)
    assert (await bench.call()).status == "denied"


async def test_a_replay_does_not_touch_it():
    """Item 154."""
    bench = Bench()
    journal = make_journal()
    with visit_scope(None, journal):
        await bench.call()
    bench.cache.log.clear()
    with visit_scope(None, make_journal(journal.data())):
        result = await bench.call()
    assert (result.replayed, result.cached, bench.cache.log) == (True, False, [])


async def test_a_cached_result_is_recorded_without_a_start():
    """Section 9: a cached result is logged done without started."""
    log = []

    class Observer:
        async def started(self, slot):
            log.append("started")

        async def settle(self, slot, result):
            log.append(f"settled, cached {result.cached}")

    bench = Bench()
    await bench.call()
    journal = make_journal(observer=Observer())
    with visit_scope(None, journal):
        await bench.call()
    assert log == ["settled, cached True"]
    assert len(journal.data()["calls"]) == 1


async def test_what_is_kept_has_passed_the_guards():
    class Clean(Guard):
        def after(self, call, value, ctx):
            return Replace(Report(["clean"]))

    bench = Bench(guards=(Clean(),))
    await bench.call()
    assert ((await bench.call()).value, bench.ran) == (Report(["clean"]), 1)


async def test_a_value_or_arguments_without_an_exact_form_are_not_kept():
    @tool(read_only=True, cache=60)
    def opaque(x: Any = 1) -> Any:
        return object()

    cache = Noting()
    executor = Executor(Registry([opaque]), cache=cache)
    await executor.run("opaque")
    await executor.run("opaque", {"x": object()})
    assert cache.log == ["get"]


async def test_a_tool_without_cache_does_not_touch_it():
    cache = Noting()
    await Executor(Registry([tool(name="t")(lambda: 5)]), cache=cache).run("t")
    assert cache.log == []


async def test_a_cache_that_fails_or_holds_rubbish_is_logged_and_the_body_runs(caplog):
    class Broken:
        async def get(self, key):
            raise OSError("down")

        async def put(self, key, value, ttl_s):
            raise OSError("down")

    class Rubbish(Broken):
        async def get(self, key):
            return {"value": {"$model": "nothing"}}

    for cache in (Broken(), Rubbish()):
        assert (await Bench(cache=cache).call()).value == Report(["look 1"])
    assert caplog.text.count("the cache gave nothing") == 2
    assert caplog.text.count("the cache did not keep") == 2


def test_only_a_harmless_tool_may_have_one():
    """Equal calls are two wishes."""
    with pytest.raises(ConfigError, match="equal calls are two wishes"):
        ToolPolicy(cache=60)
    assert ToolPolicy(cache=60, idempotent=True).cache == 60


@pytest.mark.parametrize("wrong", [0, -1, True, 1.5])
def test_a_size_that_is_no_number_from_one_is_refused(wrong):
    with pytest.raises(ConfigError, match="max_entries"):
        MemoryCache(max_entries=wrong)
