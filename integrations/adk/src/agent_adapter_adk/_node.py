"""Own nodes: every executor call and every step inside a durable node is recorded, and may ask."""

import asyncio
import functools
import inspect
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from google.adk.agents.context import Context
from google.adk.events.request_input import RequestInput
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.adk.workflow import BaseNode, node

from agent_adapter import ToolResult
from agent_adapter.approvals import ApprovalDecision, ApprovalRequest
from agent_adapter.errors import ConfigError, ToolUsageError
from agent_adapter.exec.integration import (
    AskingRecorder,
    Attempt,
    CallId,
    Question,
    Replay,
    Slot,
    make_journal,
    stable_hash,
    visit_scope,
)
from agent_adapter.policies import ToolPolicy
from agent_adapter_adk._approval import hint_of, payload_of
from agent_adapter_adk._core import Core
from agent_adapter_adk._drive import Use
from agent_adapter_adk._identity import named
from agent_adapter_adk._inside import DurableNode
from agent_adapter_adk._run import Run
from agent_adapter_adk._signals import stops
from agent_adapter_adk._values import known_types

# Why a call is still open when its node returns: whatever ended it never reached the node.
SWALLOWED = RuntimeError("the call was cancelled, and its node went on")
WORKERS = ("parallel_worker", "max_parallel_workers")


class Waiting(BaseException):
    """A call of a node waits for a person; the node returns the question."""


class NodeRecorder(AskingRecorder):
    """Keeps every call of one execution of a node, and collects what its calls ask.

    Attributes:
        asked: the questions, by the place of their call.
    """

    def __init__(self, core: Core, run: Run, ctx: Context) -> None:
        super().__init__(
            self._into,
            run_id=run.store_run,
            life=run.key("life", ctx.node_path),
            identify=self._identify,
            gate=core.policies.gate,
            pause=lambda _, __, asked: self.wait([asked.question], asked.note),
        )
        self.core = core
        self.run = run
        self.ctx = ctx
        self.asked: dict[str, Question] = {}
        self._note = ""
        self._steps: Counter[str] = Counter()

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Where executor calls and steps are this node's."""
        journal, token = make_journal(observer=self), _current.set(self)
        try:
            with visit_scope(None, journal):
                yield
        finally:
            _current.reset(token)
            journal.close()

    def _identify(self, slot: Slot) -> CallId:
        # The journal's key already counts equal calls, in the order of the node's code.
        key = self.run.key("in node", self.ctx.node_path, slot.key)
        call = named(self.run, key, slot.call_id or slot.key, slot.tool, {})
        return replace(call, digest=slot.digest or "", arguments=slot.arguments)

    async def _into(self, call: CallId, policy: ToolPolicy) -> Replay | Attempt:
        return await self.core.ledger.enter(call, policy=policy, answers=self.run.decided())

    def wait(self, questions: list[Question], note: str) -> Waiting:
        """The signal with which a call leaves that waits; its question is kept for the node's end."""
        self.asked.update({question.id: question for question in questions})
        self._note = note or self._note
        return Waiting(hint_of(questions))

    def step(self, name: str, digest: str) -> str:
        """The key of the node's next step of this name with these arguments."""
        count = self._steps[name + digest]
        self._steps[name + digest] += 1
        return self.run.key("step", self.ctx.node_path, name, digest, str(count))

    def request(self) -> RequestInput:
        """Everything that was asked, as ADK asks from a node."""
        questions = list(self.asked.values())
        first = questions[0]
        shown = payload_of(questions, self._note)
        return RequestInput(
            interrupt_id=f"agent_adapter:{stable_hash(self.ctx.node_path, *self.asked)[:32]}",
            message=hint_of(questions),
            payload={
                "tool_name": first.tool,
                "args": shown.get("args", {}),
                "confirmation_payload": shown,
            },
            response_schema=ToolConfirmation,
        )

    async def look(self, slot: Slot) -> ToolResult | None:
        """The recorded result; None when the call is not over, and then this worker has the right to run it."""
        with stops():
            return await super().look(slot)

    async def decide(self, slot: Slot, request: ApprovalRequest) -> ApprovalDecision | None:
        """What a person decided; the node waits for it where nobody has yet."""
        with stops():
            return await super().decide(slot, request)

    async def started(self, slot: Slot) -> ToolResult | None:
        """None once it is stored that the body begins; a result when another worker was faster."""
        with stops():
            return await super().started(slot)

    async def settle(self, slot: Slot, result: ToolResult) -> None:
        """Record how the call ended."""
        with stops():
            await super().settle(slot, result)

    async def leave(self, slot: Slot, error: BaseException) -> None:
        """The call ends with this: one that waits is entered again, another one that began is in doubt."""
        with stops():
            await super().leave(slot, error)

    def pauses(self, error: BaseException) -> bool:
        """Whether a call that ends with this error is entered again."""
        return isinstance(error, Waiting)


_current: ContextVar[NodeRecorder | None] = ContextVar("agent_adapter_adk_node", default=None)


def durable_node(core: Core, function: Callable[..., Awaitable[Any]], **options: Any) -> BaseNode:
    """The node; see `DurableTools.node`."""
    if not inspect.iscoroutinefunction(function):
        raise ConfigError(f"durable.node takes an async function, not {function!r}")
    signature = inspect.signature(function)
    places = [
        name
        for name, parameter in signature.parameters.items()
        if name == "ctx" or parameter.annotation in (Context, "Context")
    ]
    if not places:
        raise ConfigError(
            f"{function.__name__!r} needs a parameter `ctx: Context` to be a durable node"
        )
    if options.setdefault("rerun_on_resume", True) is not True:
        raise ConfigError("a durable node is run again with its answers: leave rerun_on_resume out")
    # ADK puts a node around the node for these.
    workers = {name: options.pop(name) for name in WORKERS if name in options}

    @functools.wraps(function)
    async def run(*args: Any, **kwargs: Any) -> Any:
        ctx = signature.bind(*args, **kwargs).arguments[places[0]]
        here = core.runs.of(ctx)
        if not core.saved(here, function.__name__):
            return await function(*args, **kwargs)
        recorder = NodeRecorder(core, here, ctx)
        with recorder.scope():
            try:
                result = await function(*args, **kwargs)
            except Waiting as waiting:
                await recorder.leave_open(waiting)
                return recorder.request()
            except BaseException as error:
                await recorder.leave_open(error)
                raise
            await recorder.leave_open(SWALLOWED)
        # The node may have caught the signal, and is not done all the same.
        return recorder.request() if recorder.asked else result

    made = DurableNode(func=run, **options)
    return node(made, **workers) if workers else made


async def step(
    core: Core, ctx: Context, function: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    """What the function returned; see `DurableTools.step`."""
    name = getattr(function, "__name__", type(function).__name__)
    if not core.saved(core.runs.of(ctx), name):
        return await _called(function, args, kwargs)
    recorder = _current.get()
    if recorder is None or recorder.core is not core:
        raise ToolUsageError(
            f"step {name!r} was not run: only a node made by @durable.node can wait for a person who is asked about it"
        )
    bound = inspect.signature(function).bind(*args, **kwargs)
    with stops():
        call = named(recorder.run, "", name, name, bound.arguments)
        call = replace(call, key=recorder.step(name, call.digest))
    policy = core.policies.of(name)
    core.policies.check_name(name)

    async def body(given: dict[str, Any]) -> Any:
        taken = bound if given is bound.arguments else _bound(function, given)
        return await _called(function, taken.args, taken.kwargs)

    def ask(questions: list[Question], note: str) -> Any:
        raise recorder.wait(questions, note)

    use = Use(
        id=call,
        run=recorder.run,
        ctx=ctx,
        arguments=bound.arguments,
        policy=policy,
        known=known_types(function, core.types),
        orchestrates=False,
        answers_errors=False,
        fits=lambda arguments: _binds(function, arguments),
        kept=lambda _: None,
        asks=lambda: None,
        ask=ask,
    )
    return await core.drive.call(use, body)


def _bound(function: Callable[..., Any], arguments: dict[str, Any]) -> inspect.BoundArguments:
    """The arguments, by the names of parameters, as the function takes them.

    Raises:
        TypeError: it does not take them.
    """
    signature = inspect.signature(function)
    if not arguments.keys() <= signature.parameters.keys():
        raise TypeError("an unknown name")
    named_ = inspect.BoundArguments(signature, OrderedDict(arguments))
    return signature.bind(*named_.args, **named_.kwargs)


def _binds(function: Callable[..., Any], arguments: dict[str, Any]) -> bool:
    try:
        _bound(function, arguments)
    except TypeError:
        return False
    return True


async def _called(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    if inspect.iscoroutinefunction(function):
        return await function(*args, **kwargs)
    return await asyncio.to_thread(function, *args, **kwargs)
