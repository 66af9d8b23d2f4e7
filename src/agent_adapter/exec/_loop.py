"""run_tool_loop: a model and its tools, turn by turn, until the model's reply is final."""

import asyncio
import os
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from agent_adapter.context import RunContext
from agent_adapter.errors import CheckpointConflict, ToolUsageError
from agent_adapter.exec._asking import Compression, OnText
from agent_adapter.exec._driving import Loop, ToolLoopResult, Tools
from agent_adapter.exec._executor import Executor
from agent_adapter.exec._keys import CheckpointKey, key_ring
from agent_adapter.exec._loop_durable import Durable
from agent_adapter.exec._loop_messages import MessageLike, read_messages
from agent_adapter.exec._loop_state import first
from agent_adapter.exec._loop_store import LoopStore
from agent_adapter.exec._visit import current_visit
from agent_adapter.exec.checkpoints import CheckpointStore, open_store
from agent_adapter.models import Model
from agent_adapter.policies import Sink


async def run_tool_loop(
    model: Model,
    registry: Tools,
    messages: str | Iterable[MessageLike],
    *,
    checkpoints: CheckpointStore | str | os.PathLike[str] | None = None,
    run_id: str | None = None,
    checkpoint_key: CheckpointKey | None = None,
    max_steps: int = 8,
    executor: Executor | None = None,
    ctx: RunContext | None = None,
    output_schema: Any = None,
    tool_choice: str = "auto",
    concurrency: int | None = None,
    stage: str = "tool_loop",
    request_options: Mapping[str, Any] | None = None,
    compression: Compression | None = None,
    on_text: OnText | None = None,
    on_event: Sink | None = None,
) -> ToolLoopResult:
    """The end of a conversation in which the model may call tools; the calls of a turn run side by side.

    With `checkpoints` the run is durable: killed at any moment, `recover_tool_loop` goes on where it stopped, and a
    finished call never runs again. Inside a visit (a durable node, an agent that is called as a tool) the loop is part of
    that visit: its replies and calls are journaled there.

    Args:
        model: the model.
        registry: the tools that it may call.
        messages: the conversation to start from; a text is what the user says.
        checkpoints: a store, or a path or URL of one. Without it a pause is the loop's end: its calls can be decided and
            run one by one (`Executor.resume`), the conversation cannot go on.
        run_id: the durable run's name; a new one is made when it is left out, see `ToolLoopResult.run_id`.
        checkpoint_key: seals what is stored; see the page on stored formats for where it comes from otherwise.
        max_steps: model calls of the whole run.
        executor: runs the calls; the default executor when it is left out.
        ctx: handed to the tools.
        output_schema: what the final reply has to be: a type (a pydantic model) or a JSON schema.
        tool_choice: "auto", "required" or a tool's name for the run's first model call; "none" for all of them.
        concurrency: calls of one turn that run at once.
        stage: the loop's name; a run is recovered by the loop of the same name.
        request_options: passed on to the model.
        compression: `async (messages) -> messages`, what the model is shown of a long conversation.
        on_text: gets the model's text as it streams.
        on_event: gets the start and the end of every call.

    Raises:
        ToolUsageError: an argument is wrong, or `run_id` is given without `checkpoints`; nothing ran.
        ConfigError: a setting is wrong, or the store cannot be used.
        CheckpointConflict: the run exists already, or another worker took it.
        CheckpointStoreCorrupt: a record, or a request in the store of approvals, was changed.
        ApprovalConflict: the decision about a call was used already, or somebody decided differently.
        ModelError: the model failed or its reply is none; the run can be recovered.
        RunLimitExceeded: a limit of the run, or `max_steps`, is reached; the run can be recovered with a higher one.
        NotSealable: a message or a call cannot be stored; for a pause, every call that could not be replayed is named.
    """
    if checkpoints is None and run_id is not None:
        raise ToolUsageError("run_id names a durable run: give checkpoints too")
    loop = Loop.of(
        model,
        registry,
        executor=executor,
        ctx=ctx,
        max_steps=max_steps,
        output_schema=output_schema,
        tool_choice=tool_choice,
        concurrency=concurrency,
        stage=stage,
        request_options=request_options,
        compression=compression,
        on_text=on_text,
        on_event=on_event,
    )
    state = first(read_messages(messages))
    if checkpoints is not None or current_visit() is None:
        # In a visit, the framework around it may ask.
        loop.check_approvals()
    if checkpoints is None:
        return await loop.run(state)
    store = open_store(checkpoints)
    ring = await asyncio.to_thread(key_ring, store, checkpoint_key)
    name = uuid.uuid4().hex if run_id is None else run_id
    schema = loop.asking.output.digest
    kept = LoopStore(store, ring, name, name=loop.asking.stage, schema=schema)
    try:
        await kept.save(state, {}, None)
    except CheckpointConflict as exc:
        reason = "a run of this name exists: recover_tool_loop goes on with it, another run_id starts anew"
        raise CheckpointConflict(name, reason) from exc
    return await loop.run(replace(state, added=()), Durable(kept))
