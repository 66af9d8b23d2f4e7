"""The process's default executor: made once, replaced, dropped, configured, and used by call and acall (items 12 to 14)."""

import asyncio
import inspect
import os
import signal
import threading

import pytest

from agent_adapter import (
    ConfigError,
    Executor,
    Registry,
    RunContext,
    ToolNotFound,
    ToolTimeout,
    ToolUsageError,
    _default_key,
    acall,
    call,
    configure,
    set_default_executor,
    tool,
)
from agent_adapter.exec import (
    Backoff,
    _defaults,
    default_executor,
    default_registry,
    reset_default_executor,
    runner_for,
)
from agent_adapter.exec._keys import key_ring


@tool
def double(x: int) -> int:
    return 2 * x


@tool
def who(ctx: RunContext) -> str | None:
    return ctx.user


@tool
async def never() -> None:
    await asyncio.Event().wait()


@pytest.fixture(autouse=True)
def process(monkeypatch):
    """A process of its own for each test: what is one for the process cannot be undone by public names alone."""
    monkeypatch.setattr(_defaults, "_defaults", type(_defaults._defaults)())
    monkeypatch.setattr(_default_key, "_ring", None)


def test_threads_that_ask_at_once_get_one_executor(monkeypatch):
    """Item 12."""
    made = []

    class Counted(Executor):
        def __init__(self, *args, **settings):
            made.append(self)
            super().__init__(*args, **settings)

    monkeypatch.setattr(_defaults, "Executor", Counted)
    together = threading.Barrier(20)
    got = []

    def ask() -> None:
        together.wait()
        got.append(default_executor())

    threads = [threading.Thread(target=ask) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == made * 20


def test_an_executor_that_is_set_is_the_default_until_it_is_reset():
    """Item 12."""
    own = Executor()
    first = default_executor()
    set_default_executor(own)
    assert default_executor() is own
    reset_default_executor()
    assert default_executor() not in (own, first)


def test_something_that_is_no_executor_is_refused():
    before = default_executor()
    with pytest.raises(ToolUsageError, match="is no Executor"):
        set_default_executor(None)
    assert default_executor() is before


def test_a_reset_drops_the_default_sinks_and_keeps_the_other_settings():
    """Item 12."""
    events = []
    configure(sinks=[events.append], timeout=0.01)
    assert call(double, {"x": 1}) == 2
    assert [type(event).__name__ for event in events] == ["ToolStarted", "ToolEnded"]
    reset_default_executor()
    assert call(double, {"x": 1}) == 2
    assert len(events) == 2
    with pytest.raises(ToolTimeout):
        call(never)


def test_a_forked_child_makes_its_own_while_a_thread_of_the_parent_is_making_one(monkeypatch):
    making, go = threading.Event(), threading.Event()
    parent = os.getpid()

    class Slow(Executor):
        def __init__(self, *args, **settings):
            if os.getpid() == parent:
                making.set()
                go.wait()
            super().__init__(*args, **settings)

    monkeypatch.setattr(_defaults, "Executor", Slow)
    maker = threading.Thread(target=default_executor)
    maker.start()
    making.wait()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(10)  # a lock that nobody here can release would hold it for ever
            os._exit(0 if call(double, {"x": 2}) == 4 else 1)
        finally:
            os._exit(2)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    go.set()
    maker.join()
    assert ended == 0


def test_the_runner_is_the_given_executor_or_the_default():
    """Item 13."""
    own = Executor()
    assert runner_for(own) is own
    assert runner_for(None) is default_executor()


async def test_call_and_acall_use_the_default_executor_and_registry():
    """Item 14."""
    default_registry().add(double)
    assert call("double", {"x": 2}) == 4
    assert await acall("double", {"x": 3}) == 6
    own = Executor(Registry([who]))
    set_default_executor(own)
    assert default_registry() is own.registry
    assert call("who", ctx=RunContext(user="ada")) == "ada"
    assert await acall("who", None, RunContext(user="bob"), call_id="c", timeout=10) == "bob"
    with pytest.raises(ToolNotFound, match=r"\(call c\)"):
        call("double", {"x": 2}, call_id="c")
    with pytest.raises(ToolNotFound, match=r"\(call d\)"):
        await acall("double", {"x": 2}, call_id="d")


def test_call_gives_up_in_time():
    """Item 18."""
    with pytest.raises(TimeoutError, match=r"within 0\.05 s"):
        call(never, timeout=0.05)


def test_tools_that_are_added_later_are_known_to_the_executor_that_is_there():
    with pytest.raises(ToolNotFound):
        call("double", {"x": 1})
    default_registry().add(double)
    assert call("double", {"x": 1}) == 2


def test_asking_for_the_registry_does_not_make_the_executor():
    default_registry().add(double)
    configure(timeout=0.01)
    with pytest.raises(ToolTimeout):
        call(never)


def test_configured_settings_add_up_and_are_for_the_next_default_executor():
    """Item 14."""
    before = default_executor()
    given = Registry([double])
    configure(registry=given)
    configure(timeout=3.0)
    assert default_executor() is before
    reset_default_executor()
    assert default_executor().registry is given
    assert default_registry() is given
    configure(registry=None)
    reset_default_executor()
    assert default_registry() is default_executor().registry is not given


@pytest.mark.parametrize("name", [*inspect.signature(Executor).parameters, "checkpoint_key"])
def test_every_setting_of_an_executor_can_be_configured(name):
    """Item 14."""
    default = {"backoff": Backoff(), "concurrency": 8, "guards": (), "hooks": (), "sinks": ()}
    configure(**{name: default.get(name)})


def test_an_empty_registry_that_is_configured_counts():
    given = Registry()
    configure(registry=given)
    assert default_registry() is given
    assert default_executor().registry is given


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"unknown": 1}, "no such settings: unknown; there are registry, "),
        ({"timeout": -1}, "timeout is None or a positive number"),
        ({"concurrency": 0}, "concurrency is a number from 1"),
        ({"registry": "tools"}, "registry is None or a Registry"),
        ({"sinks": 5}, "sinks"),
        ({"backoff": None}, "backoff"),
        ({"checkpoint_key": "short"}, "16 bytes"),
        ({"checkpoint_key": []}, "checkpoint_key"),
    ],
)
def test_a_wrong_setting_is_refused_at_once_and_nothing_has_changed(wrong, message, memory_store):
    """Item 14."""
    given = Registry([double])
    before = key_ring(memory_store).key_id
    right = {"registry": given, "checkpoint_key": b"k" * 16}
    with pytest.raises(ConfigError, match=message):
        configure(**{**right, **wrong})
    assert default_registry() is not given
    assert key_ring(memory_store).key_id == before


def test_the_configured_key_stands_between_a_given_one_and_the_environment(
    monkeypatch, memory_store
):
    given, configured, rotated = b"g" * 16, b"c" * 16, b"r" * 16
    monkeypatch.setenv("AGENT_ADAPTER_CHECKPOINT_KEY", "from the environment")
    environment = key_ring(memory_store).key_id
    configure(checkpoint_key=configured)
    assert key_ring(memory_store).key_id == key_ring(None, configured).key_id != environment
    assert key_ring(memory_store, given).key_id == key_ring(None, given).key_id
    configure(checkpoint_key=[rotated, configured])
    assert key_ring(memory_store).key_id == key_ring(None, rotated).key_id
    configure(timeout=1.0)
    reset_default_executor()
    assert key_ring(memory_store).key_id == key_ring(None, rotated).key_id
    configure(checkpoint_key=None)
    assert key_ring(memory_store).key_id == environment


def test_without_any_key_a_shared_store_names_the_ways_out(monkeypatch):
    monkeypatch.delenv("AGENT_ADAPTER_CHECKPOINT_KEY", raising=False)
    with pytest.raises(ConfigError, match=r"configure\(checkpoint_key=…\)"):
        key_ring(object())
