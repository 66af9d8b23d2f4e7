"""A tool's own `reconcile` probe: asked before a person, believed only where it can know."""

from enum import Enum

import pytest
from pydantic import BaseModel
from tests.exec.loop_kit import Lab, Outage, Tape, ask, said

from agent_adapter import CheckpointConflict, RecoveryNeedsDecision, ToolCall, tool
from agent_adapter.exec import (
    DidNotHappen,
    DoNotRun,
    Happened,
    Rerun,
    Unknown,
    register_control_flow,
)


class Size(Enum):
    SMALL = "small"


class Order(BaseModel):
    item: str
    size: Size


class Pause(Exception):
    """A framework's own interrupt."""


register_control_flow(Pause)


@pytest.fixture
def lab(store) -> Lab:
    return Lab(store)


async def crashed(lab, call=None):
    """A run whose charge took effect, and nobody knows."""
    lab.play([call or ask("charge", cents=5)], "done")
    lab.break_at(4)
    with pytest.raises(Outage):
        await lab.run(concurrency=1)
    lab.tape.writes.clear()


async def question(lab, **given):
    """The only question that the recovery asks."""
    with pytest.raises(RecoveryNeedsDecision) as raised:
        await lab.recover(**given)
    [call] = raised.value.calls
    return call


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_probe_is_asked_before_a_person(lab, is_async):
    asked = []

    def reconcile(arguments, key):
        asked.append((arguments, key))
        return Happened("found it")

    async def later(arguments, key):
        return reconcile(arguments, key)

    lab.change("charge", reconcile=later if is_async else reconcile)
    await crashed(lab)
    result = await lab.recover()
    assert said(result)[2] == ("tool", "found it")
    assert set(map(str, asked)) == {str(({"cents": 5}, lab.keys[0]))}
    assert lab.ran == [("charge", 5)]


async def test_a_call_that_did_not_happen_runs(lab):
    lab.change("charge", reconcile=lambda arguments, key: DidNotHappen())
    await crashed(lab)
    await lab.recover()
    assert (lab.ran, lab.keys[0]) == ([("charge", 5)] * 2, lab.keys[1])


def unclear(arguments, key):
    raise OSError("down")


@pytest.mark.parametrize(
    "reconcile",
    [unclear, lambda arguments, key: Unknown(), lambda arguments, key: None],
    ids=["fails", "unknown", "nothing"],
)
async def test_a_probe_that_cannot_tell_leaves_it_to_a_person(lab, reconcile):
    lab.change("charge", reconcile=reconcile)
    await crashed(lab)
    call = await question(lab)
    assert (lab.tape.writes, lab.ran) == ([], [("charge", 5)])
    await lab.recover(decisions={call.question_id: Happened("ok")})


async def test_that_it_did_not_happen_is_not_enough_while_its_worker_may_live(lab):
    lab.change("charge", reconcile=lambda arguments, key: DidNotHappen())
    lab.tape = Tape(lab.store, owner="elsewhere")
    await crashed(lab)
    lab.tape = Tape(lab.store, owner="here")
    call = await question(lab)
    assert (call.owner_known_dead, lab.ran) == (False, [("charge", 5)])


@pytest.mark.parametrize("decision", [Rerun(), DoNotRun("no"), Happened("by hand")], ids=str)
async def test_a_person_who_has_decided_is_believed_before_the_probe(lab, decision):
    words = [Unknown()]
    lab.change("charge", reconcile=lambda arguments, key: words[-1])
    await crashed(lab)
    call = await question(lab)
    words.append(Happened("by the probe"))
    told = said(await lab.recover(decisions={call.question_id: decision}))[2][1]
    assert (
        told
        == {
            Rerun(): "charged 5",
            DoNotRun("no"): "DoNotRun: no",
            Happened("by hand"): "by hand",
        }[decision]
    )


async def test_with_rerun_in_doubt_a_probe_that_knows_is_believed_first(lab):
    """Item 87: the word of a tool that can look is better than a word about all of them."""
    lab.change("charge", reconcile=lambda arguments, key: Happened("found it"))
    await crashed(lab)
    assert said(await lab.recover(rerun_in_doubt=True))[2] == ("tool", "found it")
    assert lab.ran == [("charge", 5)]


@pytest.mark.parametrize("raised", [Pause(), CheckpointConflict("run-2", "moved")], ids=repr)
async def test_control_flow_in_a_probe_escapes(lab, raised):
    """Item 10"""

    def reconcile(arguments, key):
        raise raised

    lab.change("charge", reconcile=reconcile)
    await crashed(lab)
    with pytest.raises(type(raised)) as escaped:
        await lab.recover()
    assert escaped.value is raised
    assert lab.tape.writes == []


async def test_a_probe_gets_the_arguments_as_the_body_did(lab):
    asked = []

    def reconcile(arguments, key):
        asked.append(arguments)
        return Happened("ordered")

    @tool(reconcile=reconcile)
    async def buy(order: Order) -> str:
        lab.ran.append(("buy", order))
        return "bought"

    lab.tools.add(buy)
    await crashed(lab, ToolCall("a", "buy", {"order": {"item": "tea", "size": "small"}}))
    result = await lab.recover()
    assert asked[0] == {"order": Order(item="tea", size=Size.SMALL)}
    assert said(result)[2] == ("tool", "ordered")
