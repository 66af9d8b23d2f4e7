"""Ledger, `reconcile`: the tool's own word about a call in doubt, and what it is not enough for."""

import asyncio
from dataclasses import replace

import pytest
from pydantic import BaseModel

from agent_adapter import ToolPolicy
from agent_adapter.exec._questions import DidNotHappen, Happened, Rerun, Unknown
from agent_adapter.exec.integration import encode

HAPPENED = {"kind": "decided", "happened": True, "value": "paid"}


class Service:
    """The outside service that a probe asks; `says` is its word or the error with which it fails."""

    def __init__(self, says) -> None:
        self.says = says
        self.asked = []

    def sync(self, arguments, key):
        self.asked.append((arguments, key))
        if isinstance(self.says, BaseException):
            raise self.says
        return self.says

    async def coroutine(self, arguments, key):
        return self.sync(arguments, key)

    def awaitable(self, arguments, key):
        return self.coroutine(arguments, key)


FLAVOURS = pytest.mark.parametrize("flavour", ["sync", "coroutine", "awaitable"])


def probed(service: Service, flavour: str = "coroutine") -> ToolPolicy:
    return ToolPolicy(reconcile=getattr(service, flavour))


@FLAVOURS
async def test_what_happened_is_recorded_and_nobody_is_asked(fleet, call, flavour):
    service = Service(Happened("paid"))
    attempt = await fleet.die("a", call)
    for name in ("b", "b", "c"):
        assert await fleet.run(name, call, policy=probed(service, flavour)) == HAPPENED
    assert service.asked == [({"amount": 5}, attempt.idempotency_key)]
    assert len(fleet.ran) == 1


@FLAVOURS
async def test_what_a_dead_worker_did_not_do_runs_again(fleet, call, flavour):
    service = Service(DidNotHappen())
    await fleet.die("a", call)
    assert await fleet.run("b", call, policy=probed(service, flavour)) == {"receipt": 2}
    assert fleet.ran == [fleet.ran[0]] * 2
    assert len(service.asked) == 1


@pytest.mark.parametrize("state", ["alive", "unknown"])
async def test_what_did_not_happen_yet_is_asked_about_while_somebody_may_be_at_it(
    fleet, call, state
):
    service = Service(DidNotHappen())
    await fleet.die("a", call)
    fleet.states["a"] = state
    fleet.ledger("b", on_busy="ask")
    question = await fleet.ask("b", call, policy=probed(service))
    assert (question.cause, question.owner_known_dead) == ("busy", False)
    assert len(service.asked) == 1
    assert len(fleet.ran) == 1


async def test_what_happened_counts_while_the_worker_lives(fleet, call):
    service = Service(Happened("paid"))
    await fleet.die("a", call)
    fleet.states["a"] = "unknown"
    assert await fleet.run("b", call, policy=probed(service)) == HAPPENED


async def test_a_worker_that_is_known_to_live_is_not_probed(fleet, call):
    service = Service(Happened("paid"))
    await fleet.begin("a", call)
    with pytest.raises(Exception, match="still run by another live worker"):
        await fleet.run("b", call, policy=probed(service))
    assert service.asked == []


@FLAVOURS
@pytest.mark.parametrize(
    "says",
    [Unknown(), None, True, "happened", Happened, DidNotHappen, Rerun(), OSError("down")],
    ids=repr,
)
async def test_a_probe_that_cannot_say_leaves_it_to_a_person(fleet, call, says, flavour):
    service = Service(says)
    await fleet.die("a", call)
    question = await fleet.ask("b", call, policy=probed(service, flavour))
    assert question.cause == "died"
    assert len(service.asked) == 1
    assert len(fleet.ran) == 1


async def test_a_decision_is_not_second_guessed_by_the_probe(fleet, call):
    service = Service(Unknown())
    await fleet.die("a", call)
    question = await fleet.ask("b", call, policy=probed(service))
    service.says = Happened("paid")
    answers = {question.id: Rerun()}
    assert await fleet.run("b", call, policy=probed(service), answers=answers) == {"receipt": 2}
    assert len(service.asked) == 1


@pytest.mark.parametrize("end", ["raised", "cancelled"])
async def test_a_call_that_raised_is_probed_too(fleet, call, end):
    service = Service(Happened("paid"))
    attempt = await fleet.begin("a", call)
    await attempt.fail(end, TimeoutError())
    attempt.land()
    assert await fleet.run("a", call, policy=probed(service)) == HAPPENED


async def test_changed_arguments_are_not_probed_but_asked_about(fleet, call):
    service = Service(Happened("paid"))
    await fleet.die("a", call)
    question = await fleet.ask("b", replace(call, digest="d2"), policy=probed(service))
    assert question.cause == "changed"
    assert service.asked == []


async def test_the_probe_sees_the_arguments_that_were_really_used(fleet, call):
    service = Service(Happened("paid"))
    attempt = await fleet["a"].enter(call, policy=ToolPolicy())
    await attempt.start(encode({"amount": 4, "to": ("x", b"y")}))
    fleet.states["a"] = "dead"
    await fleet.run("b", call, policy=probed(service))
    assert service.asked == [({"amount": 4, "to": ("x", b"y")}, attempt.idempotency_key)]


async def test_the_word_about_an_earlier_attempt_proves_nothing_about_this_one(fleet, call):
    """Two workers probe the same doubt; while one still waits for its word, the other runs the call and dies."""
    asked, heard = asyncio.Event(), asyncio.Event()
    words = []

    async def slow(arguments, key):
        words.append(key)
        asked.set()
        await heard.wait()
        return DidNotHappen() if len(words) == 1 else Unknown()

    await fleet.die("a", call)
    first = asyncio.create_task(fleet.run("b", call, policy=ToolPolicy(reconcile=slow)))
    await asked.wait()
    await fleet.die("c", call, policy=probed(Service(DidNotHappen())))
    heard.set()
    with pytest.raises(Exception, match="died"):
        await first
    assert len(fleet.ran) == 2
    assert len(words) == 2


async def test_the_word_given_while_a_worker_may_live_proves_nothing_once_it_is_dead(fleet, call):
    """The worker takes effect after the service was asked, and dies before the word is heard."""
    asked, heard = asyncio.Event(), asyncio.Event()
    words = []

    async def slow(arguments, key):
        words.append(Happened("paid") if fleet.ran else DidNotHappen())
        word = words[-1]
        asked.set()
        await heard.wait()
        return word

    attempt = await fleet["a"].enter(call, policy=ToolPolicy())
    await attempt.start(call.arguments)
    fleet.states["a"] = "unknown"
    working = asyncio.create_task(fleet.run("b", call, policy=ToolPolicy(reconcile=slow)))
    await asked.wait()
    await fleet.charge(attempt)
    fleet.states["a"] = "dead"
    heard.set()
    assert await working == HAPPENED
    assert words == [DidNotHappen(), Happened("paid")]
    assert len(fleet.ran) == 1


@pytest.mark.parametrize(
    "flavour",
    [
        "sync",
        "coroutine",
    ],
)
async def test_a_probe_that_finds_nothing_with_next_leaves_it_to_a_person(fleet, call, flavour):
    """`next(charge for charge in … if charge.key == key)` raises StopIteration, which no future can carry."""
    await fleet.die("a", call)
    async with asyncio.timeout(20):
        question = await fleet.ask("b", call, policy=probed(Service(StopIteration()), flavour))
    assert question.cause == "died"


class Order(BaseModel):
    amount: int


async def test_arguments_that_cannot_be_made_again_leave_it_to_a_person(fleet, call):
    service = Service(Happened("paid"))
    attempt = await fleet["a"].enter(call, policy=ToolPolicy())
    await attempt.start(encode({"order": Order(amount=5)}))
    fleet.states["a"] = "dead"
    question = await fleet.ask("b", call, policy=probed(service))
    assert question.cause == "died"
    assert service.asked == []


async def test_a_result_that_cannot_be_stored_leaves_it_to_a_person(fleet, call):
    await fleet.die("a", call)
    question = await fleet.ask("b", call, policy=probed(Service(Happened(object()))))
    assert question.cause == "died"
