"""The drop-in ToolNode: every call of one model message is protected, and all questions are raised together at the end."""

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphInterrupt, ParentCommand
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import Runtime

from agent_adapter.errors import ToolUsageError
from agent_adapter.exec.integration import CallId
from agent_adapter_langgraph._approval import Answers, Parked
from agent_adapter_langgraph._call_ids import corrected, with_call_ids
from agent_adapter_langgraph._compat import StockToolNode
from agent_adapter_langgraph._core import Core
from agent_adapter_langgraph._handoff import with_siblings
from agent_adapter_langgraph._identity import ToolUse
from agent_adapter_langgraph._leaving import in_sync
from agent_adapter_langgraph._probe import Body, Probes, original_of, probe
from agent_adapter_langgraph._running import Call
from agent_adapter_langgraph._signals import stops
from agent_adapter_langgraph._visit import Visit, get, messages_of


@dataclass(frozen=True)
class _Raised:
    """A call that ended with an exception, kept until its siblings have ended too."""

    error: Exception


@dataclass
class _Batch:
    """The calls of one model message in one execution of the node."""

    visit: Visit
    uses: list[ToolUse]
    messages: list[Any]
    calls: dict[int, CallId] = field(default_factory=dict)
    # The model's message with repaired call ids, when they had to be repaired.
    corrected: AIMessage | None = None
    answers: Answers | None = None


_batch: ContextVar[_Batch | None] = ContextVar("agent_adapter_batch", default=None)


class DurableToolNode(StockToolNode):
    """A ToolNode whose finished calls are answered from the record."""

    def __init__(self, tools: Sequence[Any], *, core: Core, **options: Any) -> None:
        self._core = core
        super().__init__([_unwrapped(tool) for tool in tools], **options)
        core.remember(list(self.tools_by_name.values()))

    def _func(self, input: Any, config: RunnableConfig, runtime: Runtime) -> Any:  # noqa: A002 - ToolNode's
        batch = self._gather(input, config)
        if batch.calls:
            self._core.barrier.wait(batch.visit)
            batch.answers = in_sync(self._core.answers(batch.visit, list(batch.calls.values())))
        token = _batch.set(batch)
        try:
            return super()._func(input, config, runtime)
        finally:
            _batch.reset(token)

    async def _afunc(self, input: Any, config: RunnableConfig, runtime: Runtime) -> Any:  # noqa: A002 - ToolNode's
        batch = self._gather(input, config)
        if batch.calls:
            await self._core.barrier.await_(batch.visit)
            batch.answers = await self._core.answers(batch.visit, list(batch.calls.values()))
        token = _batch.set(batch)
        try:
            return await super()._afunc(input, config, runtime)
        finally:
            _batch.reset(token)

    def _gather(self, given: Any, config: RunnableConfig) -> _Batch:
        """Which calls this execution makes, each with its record's place."""
        visit = self._core.visit(config)
        calls, _ = super()._parse_input(given)
        messages = messages_of(self._extract_state(given, config), self._messages_key)
        batch = _Batch(visit, [self._use(call) for call in calls], messages)
        protection = [self._core.protection(visit, use) for use in batch.uses]
        if "recorded" in protection:
            repaired, batch.corrected = _repaired(calls, messages)
            batch.uses = [self._use(call) for call in repaired]
            seen = messages if batch.corrected is None else [*messages, batch.corrected]
            batch.calls = {
                n: self._core.identify(visit, use, seen)
                for n, use in enumerate(batch.uses)
                if protection[n] == "recorded"
            }
        return batch

    def _use(self, call: Mapping[str, Any]) -> ToolUse:
        return ToolUse(self.tools_by_name.get(call["name"]), call["name"], call["id"], call["args"])

    def _parse_input(self, input: Any) -> Any:  # noqa: A002 - ToolNode's
        calls, input_type = super()._parse_input(input)
        batch = _batch.get()
        if batch is None:
            return calls, input_type
        return [
            {**call, "id": use.model_id} for call, use in zip(calls, batch.uses, strict=True)
        ], input_type

    def _run_one(self, call: Any, input_type: Any, tool_runtime: Any) -> Any:
        try:
            return super()._run_one(call, input_type, tool_runtime)
        except Exception as error:  # noqa: BLE001 - raised again when the siblings have ended
            return _Raised(error)

    async def _arun_one(self, call: Any, input_type: Any, tool_runtime: Any) -> Any:
        try:
            return await super()._arun_one(call, input_type, tool_runtime)
        except Exception as error:  # noqa: BLE001 - raised again when the siblings have ended
            return _Raised(error)

    def _execute_tool_sync(
        self, request: ToolCallRequest, input_type: Any, config: RunnableConfig
    ) -> Any:
        execute = super()._execute_tool_sync
        call = self._driven(request)
        if call is None:
            return execute(request, input_type, config)
        return self._core.drive.run(
            call, lambda running: execute(probed(request, running), input_type, config)
        )

    async def _execute_tool_async(
        self, request: ToolCallRequest, input_type: Any, config: RunnableConfig
    ) -> Any:
        execute = super()._execute_tool_async
        call = self._driven(request)
        if call is None:
            return await execute(request, input_type, config)
        return await self._core.drive.arun(
            call, lambda running: execute(probed(request, running), input_type, config)
        )

    def _driven(self, request: ToolCallRequest) -> Call | None:
        """The call to drive; None for one that is not protected.

        Raises:
            ToolUsageError: a wrapper made something of the call that cannot be protected any more; nothing ran.
        """
        batch = _batch.get()
        if batch is None:
            return None
        wanted = request.tool_call
        given = ToolUse(request.tool, wanted["name"], wanted["id"], wanted["args"])
        place = next(
            (n for n, use in enumerate(batch.uses) if use.model_id == given.model_id), None
        )
        if place in batch.calls:
            # A wrapper of the user may have changed the arguments: what is run is what is recorded.
            call = batch.calls[place]
            as_given = self._core.identify(batch.visit, given, batch.messages)
            name = replace(as_given, run=call.run, key=call.key, call_id=call.call_id)
            return self._core.call(batch.visit, given, name, batch.answers or Answers())
        if self._core.protection(batch.visit, given) == "recorded":
            with stops():
                raise ToolUsageError(
                    f"a wrapper turned a call into one of tool {given.name!r} with id {given.model_id!r}, which the model did "
                    "not ask for, so it cannot be protected; nothing ran"
                )
        return None

    def _combine_tool_outputs(self, outputs: Any, input_type: Any) -> Any:
        batch = _batch.get()
        errors = [output.error for output in outputs if isinstance(output, _Raised)]
        results = [output for output in outputs if not isinstance(output, _Raised)]
        _raise_first(errors, batch)
        turn = _turn(batch) if batch is not None and batch.calls else None
        key = self._messages_key
        if handoffs := [error for error in errors if isinstance(error, ParentCommand)]:
            raise ParentCommand(with_siblings(handoffs[0].args[0], turn, results, key))
        merged = [with_siblings(result, turn, results, key) for result in results]
        combined = super()._combine_tool_outputs(merged, input_type)
        if batch is None or batch.corrected is None or input_type == "tool_calls":
            return combined
        return _with_message(combined, batch.corrected, input_type, key)


def probed(request: ToolCallRequest, running: Body) -> ToolCallRequest:
    """The request with a probe for its tool, and for every tool that an edit may choose instead."""
    if request.tool is None:
        return request
    runtime = replace(request.runtime, tools=Probes(list(request.runtime.tools or ()), running))
    return replace(request, tool=probe(original_of(request.tool), running), runtime=runtime)


def _unwrapped(tool: Any) -> Any:
    """A tool that was wrapped for use elsewhere is protected by the node itself here."""
    return getattr(tool, "_agent_adapter_wrapped", tool)


def _raise_first(errors: Sequence[Exception], batch: _Batch | None) -> None:
    """Raise what has to be raised for these errors: a failure or stop first, then all questions together."""
    for error in errors:
        if not isinstance(error, GraphInterrupt | ParentCommand):
            raise error
    questions = [
        question for error in errors if isinstance(error, Parked) for question in error.questions
    ]
    others = [
        interrupt
        for error in errors
        if isinstance(error, GraphInterrupt) and not isinstance(error, Parked)
        for interrupt in error.args[0]
    ]
    if questions or others:
        notes = [error.note for error in errors if isinstance(error, Parked) and error.note]
        read = batch.answers.note if batch and batch.answers else ""
        raise Parked(
            questions, "; ".join(dict.fromkeys([*notes, *([read] if read else [])])), others
        )


def _repaired(
    calls: Sequence[Mapping[str, Any]], messages: Sequence[Any]
) -> tuple[list[Any], AIMessage | None]:
    """The calls with an id each, and the model's message with those ids when it had to be changed."""
    message = next((m for m in reversed(messages) if isinstance(m, AIMessage)), None)
    base = str(get(message, "id"))
    if message is None or len(message.tool_calls) != len(calls):
        return with_call_ids(calls, base), None
    changed = corrected(message, base)
    return list(changed.tool_calls), None if changed is message else changed


def _turn(batch: _Batch) -> AIMessage | None:
    if batch.corrected is not None:
        return batch.corrected
    ids = {use.model_id for use in batch.uses}
    for message in reversed(batch.messages):
        if isinstance(message, AIMessage) and ids & {call["id"] for call in message.tool_calls}:
            return message
    return None


def _with_message(combined: Any, message: AIMessage, input_type: str, key: str) -> Any:
    """The node's output with the repaired model message before everything else."""
    if isinstance(combined, dict):
        return {**combined, key: [message, *combined[key]]}
    if input_type == "list" and not any(isinstance(item, list) for item in combined):
        return [message, *combined]
    return [[message] if input_type == "list" else {key: [message]}, *combined]
