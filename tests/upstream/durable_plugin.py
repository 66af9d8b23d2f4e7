"""A pytest plugin that puts durable tools under LangGraph's own ToolNode tests.

`--tool-node` says what `ToolNode` means in those tests:

- `stock`: LangGraph's own, to see that the tests themselves pass;
- `wrapped`: LangGraph's own around a wrapper that only passes on, to see what no wrapper can pass;
- `durable`: `DurableTools(...).tool_node`;
- `middleware`: LangGraph's own around the hooks of `DurableTools(...).middleware()`.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import reduce
from typing import Any

import pytest
from langgraph import prebuilt
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import chat_agent_executor, tool_node

StockToolNode = tool_node.ToolNode
MODES = ("stock", "wrapped", "durable", "middleware")

# LangGraph itself ignores the typed forms of handle_tool_errors once a wrapper is there, whatever the wrapper does.
FAILS_IN_ANY_WRAPPER = {
    "test_tool_node_error_handling_callable[asyncio]",
    "test_tool_node_inject_state[_InjectStateSchema]",
    "test_tool_node_inject_store",
}

Settings = dict[str, Any]


def durable_tools() -> Any:
    """Durable tools on a store of their own: these tests reuse thread, message and call ids from one to the next."""
    # Here and not above, so that `stock` and `wrapped` judge the tests without our packages.
    from agent_adapter.exec.checkpoints import MemoryCheckpointStore
    from agent_adapter_langgraph import DurableTools

    return DurableTools(MemoryCheckpointStore(), allow_unsaved=True)


class PassOn:
    """The smallest middleware: both hooks only pass on."""

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return handler(request)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        return await handler(request)


def around(outer: Callable[..., Any], inner: Callable[..., Any]) -> Callable[..., Any]:
    """One hook out of two, sync or async alike: the outer one's handler is the inner one."""
    return lambda request, handler: outer(request, lambda changed: inner(changed, handler))


def inside(parts: Sequence[Any], tools: Sequence[Any], settings: Settings) -> StockToolNode:
    """LangGraph's node with the middleware's hooks outside the hooks that the test brings."""
    from langchain.agents.middleware import AgentMiddleware

    hooks = {}
    for name in ("wrap_tool_call", "awrap_tool_call"):
        given = settings.get(name)
        if name == "awrap_tool_call" and given is None and settings.get("wrap_tool_call"):
            continue  # LangGraph falls back to the sync hook, which has ours around it
        ours = [
            getattr(part, name)
            for part in parts
            if getattr(type(part), name) is not getattr(AgentMiddleware, name)
        ]
        hooks[name] = reduce(around, [*ours, given] if given else ours)
    return StockToolNode(tools, **{**settings, **hooks})


MAKERS: dict[str, Callable[[Sequence[Any], Settings], StockToolNode]] = {
    "wrapped": lambda tools, settings: inside([PassOn()], tools, settings),
    "durable": lambda tools, settings: durable_tools().tool_node(tools, **settings),
    "middleware": lambda tools, settings: inside(durable_tools().middleware(), tools, settings),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--tool-node", choices=MODES, default="stock")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Replaces ToolNode before the test modules import it."""
    make = MAKERS.get(config.getoption("--tool-node"))
    if make is None:
        return
    # Our node is a subclass of LangGraph's own, so it has to exist before that name means something else.
    durable_tools()

    class Replaced(type(StockToolNode)):
        def __call__(cls, tools: Sequence[Any], **settings: Any) -> StockToolNode:
            return make(tools, settings)

        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, StockToolNode)

    class ToolNode(StockToolNode, metaclass=Replaced):
        pass

    for module in (prebuilt, chat_agent_executor, tool_node):
        module.ToolNode = ToolNode


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Expects, strictly, that what fails in any wrapper fails in ours."""
    if config.getoption("--tool-node") in ("wrapped", "middleware"):
        for item in items:
            if item.name in FAILS_IN_ANY_WRAPPER:
                item.add_marker(pytest.mark.xfail(reason="fails in any wrapper", strict=True))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def sync_checkpointer() -> InMemorySaver:
    return InMemorySaver()


@pytest.fixture
def async_checkpointer() -> InMemorySaver:
    return InMemorySaver()
