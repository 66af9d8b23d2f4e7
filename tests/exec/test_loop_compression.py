"""Compression: the model is shown less, the history stays whole, and what was made of it is kept."""

import json

import pytest
from tests.exec.loop_kit import RUN, Lab, Tape, ask, said

from agent_adapter import ModelError, ToolUsageError, run_tool_loop
from agent_adapter.exec.checkpoints import MemoryCheckpointStore
from agent_adapter.testing.models import ScriptedModel


@pytest.fixture
def lab(store) -> Lab:
    return Lab(store)


class Shortened:
    """Compression that keeps the last two messages and what it made of all before; notes what it was shown."""

    def __init__(self):
        self.shown = []

    async def __call__(self, messages):
        self.shown.append([message.text for message in messages])
        if len(messages) <= 3:
            return messages
        made = json.dumps([message.text for message in messages[:-2]])
        return [type(messages[0])("user", made), *messages[-2:]]


def turns(count, *, last="done"):
    return [*([ask("charge", cents=n)] for n in range(count)), last]


async def test_compression_changes_what_the_model_is_shown_and_not_the_history(lab):
    """Item 36"""
    model = ScriptedModel(turns(3))
    short = Shortened()
    kept = {"checkpoints": lab.tape, "run_id": RUN, "executor": lab.executor}
    result = await run_tool_loop(model, lab.tools, "go", compression=short, **kept)
    assert [text for _, text in said(result)] == [
        *("go", "", "charged 0", "", "charged 1", "", "charged 2", "done")
    ]
    assert [len(request.messages) for request in model.requests] == [1, 3, 3, 3]
    stored = (await lab.store.latest(RUN)).checkpoint
    assert sum(len(json.loads(chunk)) for chunk in stored.history) == 8


async def test_what_was_compressed_is_not_compressed_again_after_a_crash(lab):
    """Item 36: the next life begins with what the last one had made."""
    kept = {"checkpoints": lab.tape, "run_id": RUN, "executor": lab.executor}
    whole, cut = Shortened(), Shortened()
    await run_tool_loop(
        ScriptedModel(turns(4)), lab.tools, "go", compression=whole, executor=lab.executor
    )
    model = ScriptedModel(turns(3, last=OSError("away")))
    with pytest.raises(ModelError):
        await run_tool_loop(model, lab.tools, "go", compression=cut, **kept)
    lab.script = turns(4)[3:]
    lab.models.clear()
    again = Shortened()
    model = ScriptedModel(turns(4)[3:])
    lab._model = lambda: model
    result = await lab.recover(compression=again)
    assert again.shown == whole.shown[3:]
    assert len(result.messages) == 10


@pytest.mark.parametrize("made", [[], ["text"]], ids=str)
async def test_compression_that_makes_no_messages_is_the_callers_fault(lab, made):
    async def compress(messages):
        return made

    lab.play("done")
    with pytest.raises(ToolUsageError):
        await lab.run(compression=compress)
    assert lab.asked == 0


async def test_a_long_run_writes_no_more_for_a_late_turn_than_for_an_early_one():
    """Item 108: with compression and without it."""
    sizes = []

    class Scale(Tape):
        async def save(self, run_id, step, checkpoint):
            sizes.append(len(checkpoint.document) + sum(map(len, checkpoint.history)))
            await super().save(run_id, step, checkpoint)

    async def last_ones(messages):
        return messages[-3:]

    lab = Lab(MemoryCheckpointStore())
    lab.script = [*([ask("note", text=f"{n:04}" * 500)] for n in range(200)), "done"]
    for compression in (None, last_ones):
        lab.tape, model = Scale(lab.store), ScriptedModel(lab.script)
        kept = {"checkpoints": lab.tape, "executor": lab.executor, "max_steps": 201}
        await run_tool_loop(model, lab.tools, "go", compression=compression, **kept)
        assert sizes[199] <= 1.2 * sizes[10]
        sizes.clear()
