"""One worker process: it builds the scenario's graph anew and invokes it, once or until the run has ended."""

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from langchain_core.messages import AIMessage, ToolMessage
from langgraph.errors import EmptyInputError
from langgraph.types import Interrupt
from person import Mood, Person, Style, command
from points import AsyncPointedSaver, PointedSaver, PointedStore, hit
from record import Record
from scenarios import SCENARIOS, Kit, Scenario

from agent_adapter_langgraph import DurableTools

ROUNDS = 12
# LangGraph does not wait for a checkpoint in the background; here an instant tool is always faster than one.
SLOW_S = 0.03
# LangGraph's refusal of a bare answer; a result does not show every question that waits.
MORE_WAIT = "you must specify the interrupt id"

# `input`: the first delivery. `none`: as a job runner restarts it. `again`: the person's last answer is sent again, as it
# was sent; `named`: with its question's id.
Start = Literal["input", "none", "again", "named"]


@dataclass(frozen=True)
class Cell:
    """One combination of the matrix.

    Attributes:
        saver: which checkpointer, and with it whether the graph is driven sync or async.
        named: whether the caller names its request.
        protected: False for the bare framework.
    """

    scenario: str
    saver: Literal["SqliteSaver", "AsyncSqliteSaver"] = "SqliteSaver"
    durability: Literal["sync", "async", "exit"] = "async"
    named: bool = False
    protected: bool = True

    @property
    def is_async(self) -> bool:
        return self.saver == "AsyncSqliteSaver"


class Outcome(NamedTuple):
    """How one invocation ended: one of the three, or `empty` when there was nothing to go on with."""

    results: list[tuple[str, str]] | None = None
    questions: tuple[Interrupt, ...] = ()
    error: str = ""
    empty: bool = False


class Worker:
    """A process of one run; `thread` names the conversation that it serves."""

    def __init__(
        self,
        cell: Cell,
        folder: Path,
        *,
        mood: Mood = "honest",
        style: Style = "id",
        thread: str = "t",
    ) -> None:
        self.cell = cell
        self.scenario: Scenario = SCENARIOS[cell.scenario]
        self.record = Record(folder)
        self._folder = folder
        self._person = Person(self.record, mood=mood, style=style)
        self._thread = thread

    def converse(self, start: Start) -> None:
        """Invoke until the run has ended, answering every question."""
        self._with_graph(lambda graph: self._converse(graph, start))

    def poke(self) -> None:
        """Invoke once without input, and answer nothing."""
        self._with_graph(lambda graph: self.once(graph, None))

    def begin(self) -> None:
        """Invoke once with the input, and answer nothing."""
        self._with_graph(lambda graph: self.once(graph, self.scenario.input()))

    def answer(self, answers: Mapping[str, Any], *, times: int, ready: Callable[[], Any]) -> None:
        """Answer these questions from so many threads (or tasks) at once, as soon as `ready` returns."""
        self._with_graph(lambda graph: self._answer(graph, answers, times, ready))

    def _with_graph(self, work: Callable[[Any], Awaitable[Any]]) -> None:
        async def whole() -> None:
            async with self.graph() as graph:
                await work(graph)

        asyncio.run(whole())

    @contextlib.asynccontextmanager
    async def graph(self) -> AsyncIterator[Any]:
        """The scenario's graph with its own connections."""
        path = str(self._folder / "graph.db")
        durable = None
        if self.cell.protected:
            durable = DurableTools(PointedStore(self._folder / "runs.db"))
        async with contextlib.AsyncExitStack() as stack:
            if self.cell.is_async:
                saver: Any = await stack.enter_async_context(
                    AsyncPointedSaver.from_conn_string(path)
                )
            else:
                connection = sqlite3.connect(path, check_same_thread=False)
                stack.callback(connection.close)
                saver = PointedSaver(connection)
            if self.cell.durability == "async":
                saver.slow_s = SLOW_S
            kit = Kit(self.record, saver, durable, self.cell.is_async)
            yield self.scenario.build(kit, self.scenario.script)

    async def _converse(self, graph: Any, start: Start) -> None:
        given = self._first(start)
        asked: tuple[Interrupt, ...] = ()
        shown: set[str] = set()
        for round_ in range(ROUNDS):
            outcome = await self.once(graph, given)
            if outcome.questions:
                hit(f"paused after round {round_}")
                asked = outcome.questions
                given = self._person.answer(asked, refused=shown)
                shown |= {question.id for question in asked}
            elif asked and MORE_WAIT in outcome.error:
                given = self._person.answer(asked, refused=shown)
            elif outcome.empty:
                given = self.scenario.input()
            elif self.scenario.raises and self.scenario.raises in outcome.error:
                given = None
            else:
                return

    async def _answer(
        self, graph: Any, answers: Mapping[str, Any], times: int, ready: Callable[[], Any]
    ) -> None:
        given = command(answers, bare=False)
        ready()
        if self.cell.is_async:
            await asyncio.gather(*(self.once(graph, given) for _ in range(times)))
            return
        threads = [
            threading.Thread(target=lambda: asyncio.run(self.once(graph, given)))
            for _ in range(times)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            await asyncio.to_thread(thread.join)

    def _first(self, start: Start) -> Any:
        if start == "input":
            return self.scenario.input()
        sent = self.record.read("answers")
        if start in {"again", "named"} and sent:
            as_it_was = start == "again" and not self.scenario.asks_in_turns
            answers, bare = sent[-1]["answers"], sent[-1]["bare"] and as_it_was
            self.record.add("answers", bare=bare, answers=answers)
            return command(answers, bare=bare)
        return None

    async def once(self, graph: Any, given: Any) -> Outcome:
        """Invoke once; how it ended is written down."""
        configurable = {"thread_id": self._thread}
        if self.cell.named:
            configurable["agent_adapter_run"] = "order-42"
        options: Any = {
            "config": {"configurable": configurable},
            "durability": self.cell.durability,
        }
        sent = len(self.record.read("answers"))
        try:
            if self.cell.is_async:
                found = await graph.ainvoke(given, **options)
            else:
                found = await asyncio.to_thread(graph.invoke, given, **options)
        except EmptyInputError:
            outcome = Outcome(empty=True)
        except Exception as error:  # noqa: BLE001 - judged by the verdict
            outcome = Outcome(error=f"{type(error).__name__}: {error}")
        else:
            outcome = _ended(found)
        asked = {question.id: question.value for question in outcome.questions}
        line = {**outcome._asdict(), "questions": asked, "effects": self.record.effects()}
        self.record.add("passes", given=_name(given), sent=sent, **line)
        return outcome


def _ended(found: Any) -> Outcome:
    if interrupts := found.get("__interrupt__"):
        return Outcome(questions=tuple(interrupts))
    if "messages" not in found:
        return Outcome(results=[tuple(result) for result in found["results"]])
    messages = found["messages"]
    orders = {
        call["id"]: call["args"]["order"]
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
    }
    answered = [message for message in messages if isinstance(message, ToolMessage)]
    return Outcome(results=[(orders[message.tool_call_id], message.text) for message in answered])


def _name(given: Any) -> str:
    if given is None:
        return "none"
    return "input" if isinstance(given, dict) else "answer"
