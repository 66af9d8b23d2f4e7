"""What the tests of approvals in own nodes share: a graph of one durable node, built anew for every invocation."""

import operator
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from langgraph.graph import START, StateGraph
from langgraph.types import Command
from lg_approvals import by_call, requests
from lg_scripted import THREAD, Oracle
from typing_extensions import TypedDict

from agent_adapter import ApprovalDecision, Executor, Registry, ToolCall, tool
from agent_adapter_langgraph import DurableTools


class State(TypedDict, total=False):
    out: Annotated[list[Any], operator.add]


class Port:
    """A port of the caller's own."""

    def __init__(self, answer: ApprovalDecision | None) -> None:
        self.answer = answer
        self.asked: list[Any] = []

    async def request(self, request: Any, ctx: Any) -> ApprovalDecision | None:
        self.asked.append(request.arguments)
        return self.answer


class Shop:
    """A graph of one durable node, built anew for every invocation; the node makes calls of `look` and `pay`."""

    def __init__(self, folder: Path, driver: Any, *steps: Callable[..., Any]) -> None:
        self.oracle = Oracle(folder / "effects")
        self.port: Any = None
        self.settings: dict[str, Any] = {}
        self._folder = folder
        self._driver = driver
        self._steps = steps

    @property
    def ran(self) -> list[str]:
        return self.oracle.lines

    def executor(self) -> Executor:
        @tool
        def look(x: str) -> str:
            self.oracle.write(f"look:{x}")
            return f"look {x} done"

        @tool(confirm=True)
        def pay(x: str) -> str:
            self.oracle.write(f"pay:{x}")
            return f"pay {x} done"

        return Executor(Registry([look, pay]), approvals=self.port)

    def app(self) -> Any:
        executor = self.executor()
        durable = DurableTools(self._folder / "runs.db", **self.settings)

        async def asynchronous(_: State) -> State:
            return {"out": [await step(executor) for step in self._steps]}

        def synchronous(_: State) -> State:
            return {"out": [step(executor, "_sync") for step in self._steps]}

        graph: Any = StateGraph(State)
        node = asynchronous if self._driver.kind == "async" else synchronous
        graph.add_node("shop", durable.node(node))
        graph.add_edge(START, "shop")
        return graph.compile(checkpointer=self._driver.saver)

    async def go(self, given: Any = None) -> Any:
        return await self._driver.invoke(self.app(), given, THREAD)

    async def begin(self) -> Any:
        return await self.go({"out": []})

    async def decide(self, asked: Any, **decisions: Any) -> Any:
        """`x1=…` decides about the call with these arguments."""
        names = {f"x{shown['x']}": name for name, (_, shown) in requests(asked).items()}
        named = {names[key]: said for key, said in decisions.items()}
        return await self.go(Command(resume=by_call(asked, named)))


def run(name: str, x: str) -> Callable[..., Any]:
    return lambda executor, twin="": getattr(executor, f"run{twin}")(name, {"x": x})


def run_many(calls: list[ToolCall]) -> Callable[..., Any]:
    return lambda executor, twin="": getattr(executor, f"run_many{twin}")(calls)


def said(result: Any) -> Any:
    return result.value if result.ok else (result.status, result.error.message)


def shown(asked: Any) -> list[tuple[str, Any]]:
    """The cause and the argument of each call that is asked about."""
    return [(cause, given["x"]) for cause, given in requests(asked).values()]
