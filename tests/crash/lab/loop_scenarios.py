"""The loops that are killed, by name: their scripts, tools and models, and what they are to do."""

import asyncio
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from loop_points import PointedApprovals, hit
from record import Record

from agent_adapter import Executor, Registry, RunContext, StoreApprovals, Tool, ToolCall, tool
from agent_adapter.exec import (
    DidNotHappen,
    HandoffModel,
    Happened,
    LoopAgent,
    agent_tool,
    handoff,
)
from agent_adapter.exec.checkpoints import idempotency_key
from agent_adapter.models import Model
from agent_adapter.testing.models import ScriptedModel

# What a model asks for, turn by turn: the tool and its one argument. Equal calls are two wishes.
Script = Sequence[Sequence[tuple[str, str]]]
# A person who is asked refuses these, and tells the model why.
REFUSED = "no-"


@dataclass(frozen=True)
class Scenario:
    """A loop and what it does when nothing happens to it.

    Attributes:
        build: makes the model and the tools.
        wishes: how many calls of each order are to take effect.
        repeatable: orders whose tool is idempotent, and may take effect again.
        concurrency: of the loop.
        asks: whether a call that is cut off becomes a question.
        requests: how many calls a person has to approve, one by one.
    """

    build: Callable[[Record], tuple[Model, list[Tool]]]
    wishes: Mapping[str, int]
    repeatable: frozenset[str] = field(default_factory=frozenset)
    concurrency: int | None = None
    asks: bool = True
    requests: int = 0


async def effect(record: Record, order: str) -> str:
    """Take effect, with a point on either side; others go on meanwhile."""
    await asyncio.sleep(0)
    hit(f"body before effect {order}")
    record.add("effects", order=order, key=idempotency_key())
    hit(f"body after effect {order}")
    await asyncio.sleep(0)
    return result_of(order)


def result_of(order: str) -> str:
    """What a call of this order returns once it took effect."""
    return f"done {order}"


def charge(record: Record, name: str = "charge", **policy: Any) -> Tool:
    """A tool that takes effect."""

    @tool(name=name, description=name, **policy)
    async def run(order: str) -> str:
        return await effect(record, order)

    return run


def pay(record: Record) -> Tool:
    """As `charge`, in a thread."""

    @tool(name="pay", description="pay")
    def run(order: str) -> str:
        hit(f"body before effect {order}")
        record.add("effects", order=order, key=idempotency_key())
        hit(f"body after effect {order}")
        return result_of(order)

    return run


def probed(record: Record) -> Tool:
    """As `charge`, with a probe that knows what became of a call."""

    def probe(arguments: Mapping[str, Any], key: str | None) -> object:
        hit("probe")
        happened = any(line["key"] == key for line in record.read("effects"))
        return Happened(result_of(arguments["order"])) if happened else DidNotHappen()

    return charge(record, name="probed", reconcile=probe)


def model(
    record: Record,
    script: Script,
    *,
    name: str = "outer",
    last: str = "all done",
    restless: bool = False,
) -> Model:
    """A model that follows the script, with a point on either side of each reply.

    A restless one never asks for the same twice, as real models do not: each reply marks its orders with a mark of its own.
    """

    def turn(number: int, reply: Any) -> Callable[[Any], Any]:
        def say(_: Any) -> Any:
            hit(f"model before {name} {number}")
            record.add("turns", name=name, turn=number)
            mark = f"{MARK}{uuid.uuid4().hex}" if restless else ""
            said = reply if isinstance(reply, str) else _calls(f"{name}-{number}", reply, mark)
            hit(f"model after {name} {number}")
            return said

        return say

    replies = [turn(number, reply) for number, reply in enumerate([*script, last])]
    return ScriptedModel(replies, by_history=True, name=name)


def _calls(turn: str, wanted: Sequence[tuple[str, str]], mark: str) -> list[ToolCall]:
    return [
        ToolCall(f"{turn}-{n}", name, {"task" if name in AGENTS else "order": f"{given}{mark}"})
        for n, (name, given) in enumerate(wanted)
    ]


# What comes after it in an order tells one reply of a restless model from another.
MARK = "~"


AGENTS = ("helper", "desk")


def plain(record: Record) -> tuple[Model, list[Tool]]:
    script = [
        [("charge", "a"), ("charge", "b"), ("pay", "c"), ("charge", "b")],
        [("charge", "d")],
    ]
    return model(record, script), [charge(record), pay(record)]


def repeatable(record: Record) -> tuple[Model, list[Tool]]:
    script = [[("safe", "a"), ("charge", "b"), ("safe", "a")], [("safe", "c")]]
    return model(record, script), [charge(record), charge(record, name="safe", idempotent=True)]


def restless(record: Record) -> tuple[Model, list[Tool]]:
    script = [[("charge", "a"), ("safe", "b"), ("charge", "a")], [("safe", "c"), ("charge", "d")]]
    tools = [charge(record), charge(record, name="safe", idempotent=True)]
    return model(record, script, restless=True), tools


def reconciled(record: Record) -> tuple[Model, list[Tool]]:
    script = [[("probed", "a"), ("probed", "b"), ("probed", "a")], [("probed", "c")]]
    return model(record, script), [probed(record)]


def approved(record: Record) -> tuple[Model, list[Tool]]:
    script = [
        [("mail", "a"), ("charge", "b"), ("mail", "no-c"), ("mail", "a")],
        # The first order again: what was decided about it before is about another call.
        [("mail", "d"), ("mail", "a")],
    ]
    return model(record, script), [charge(record), charge(record, name="mail", confirm=True)]


def agents(record: Record) -> tuple[Model, list[Tool]]:
    inner: Script = [[("charge", "i"), ("charge", "i"), ("mail", "j")], [("charge", "k")]]
    script: Script = [[("charge", "a"), ("helper", "help"), ("charge", "i")], [("charge", "b")]]
    tools = [charge(record), charge(record, name="mail", confirm=True)]
    helper = LoopAgent(
        model=model(record, inner, name="inner", last="helped"), tools=Registry(tools)
    )
    made = agent_tool(helper, name="helper", description="helps")
    return model(record, script), [charge(record), made]


def opaque(record: Record) -> tuple[Model, list[Tool]]:
    """An agent that is a function: nobody can tell from outside which tools it has."""
    executor = Executor(approvals=StoreApprovals(PointedApprovals(record.folder / "approvals.db")))
    work = [
        (charge(record), "i"),
        (charge(record, name="safe", idempotent=True), "s"),
        (charge(record, name="mail", confirm=True), "j"),
        (charge(record), "i"),
    ]

    async def helps(task: str, ctx: RunContext) -> str:
        del task
        return ", ".join([await executor.run(made, {"order": order}, ctx) for made, order in work])

    script: Script = [[("charge", "a"), ("helper", "help"), ("charge", "i")], [("charge", "b")]]
    made = agent_tool(helps, name="helper", description="helps")
    return model(record, script), [charge(record), made]


def handed(record: Record) -> tuple[Model, list[Tool]]:
    inner: Script = [[("charge", "i"), ("charge", "i")]]
    script: Script = [[("charge", "a")], [("desk", "take over")]]
    desk = LoopAgent(
        model=model(record, inner, name="inner", last="taken over"),
        tools=Registry([charge(record)]),
    )
    made = handoff(desk, name="desk", description="takes over")
    return HandoffModel(model(record, script)), [charge(record), made]


SCENARIOS = {
    "plain": Scenario(plain, {"a": 1, "b": 2, "c": 1, "d": 1}),
    "in_turn": Scenario(plain, {"a": 1, "b": 2, "c": 1, "d": 1}, concurrency=1),
    "idempotent": Scenario(repeatable, {"a": 2, "b": 1, "c": 1}, repeatable=frozenset("ac")),
    "restless": Scenario(restless, {"a": 2, "b": 1, "c": 1, "d": 1}, repeatable=frozenset("bc")),
    "reconciled": Scenario(reconciled, {"a": 2, "b": 1, "c": 1}, asks=False),
    "approved": Scenario(approved, {"a": 3, "b": 1, "d": 1}, requests=5),
    "agents": Scenario(agents, {"a": 1, "i": 3, "j": 1, "k": 1, "b": 1}, requests=1),
    "opaque": Scenario(
        opaque,
        {"a": 1, "i": 3, "s": 1, "j": 1, "b": 1},
        repeatable=frozenset("s"),
        requests=1,
    ),
    "handed": Scenario(handed, {"a": 1, "i": 2}),
}
