"""One approval, one body: clicks at the same moment, other answers to the same question, retries, and bodies that ask."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain.agents.middleware import ToolRetryMiddleware
from langgraph.types import Command, interrupt
from lg_approvals import APPROVE, CONFIRM, REJECT, Office, by_call, edit, requests
from lg_scripted import THREAD, answers, ask, interrupts

from agent_adapter import ToolPolicy
from agent_adapter.errors import ApprovalConflict, CheckpointConflict

TURN = ask(("pay", "1", "c1"))
THEN = ask(("mail", "2", "c2"))


class Sync:
    """The sync driver, for threads."""

    kind = "sync"

    def __init__(self, saver: Any) -> None:
        self.saver = saver


@pytest.fixture
def clicks(way, tmp_path, sync_saver) -> Any:
    """Answer at the same moment from threads, each with an agent of its own; the outcomes are states or errors."""
    office = Office(tmp_path, Sync(sync_saver), way, TURN, THEN)

    def click(*given: Any) -> list[Any]:
        asked = office.app().invoke({"messages": [("user", "go")]}, THREAD)
        together = threading.Barrier(len(given))
        apps = [office.app() for _ in given]

        def one(app: Any, said: Any) -> Any:
            together.wait(10)
            try:
                return app.invoke(Command(resume=by_call(asked, {"c1": said})), THREAD)
            except Exception as error:  # noqa: BLE001 - the outcome
                return error

        with ThreadPoolExecutor(len(given)) as pool:
            return list(pool.map(one, apps, given))

    click.office = office
    return click


def test_clicked_twice_it_runs_once_and_so_does_the_next_turn(clicks):
    """Field report B07: approve clicked twice at the same moment."""
    outcomes = clicks(APPROVE, APPROVE)

    states = [each for each in outcomes if not isinstance(each, Exception)]
    assert all(isinstance(each, dict | CheckpointConflict) for each in outcomes), outcomes
    assert [answers(each) for each in states] == [{"c1": "pay 1 done", "c2": "mail 2 done"}] * len(
        states
    )
    assert sorted(clicks.office.ran) == ["mail:2", "pay:1"]


@pytest.mark.parametrize(
    "given", [(APPROVE, REJECT), (edit("pay", "7"), edit("pay", "8"))], ids=["yes, no", "edits"]
)
def test_of_two_different_answers_at_once_one_counts(given, clicks):
    """The other one is refused with an error, or finds the call over; nothing runs for it."""
    outcomes = clicks(*given)

    errors = [each for each in outcomes if isinstance(each, Exception)]
    assert all(isinstance(each, ApprovalConflict | CheckpointConflict) for each in errors), errors
    stands = answers(clicks.office.app().invoke(None, THREAD))["c1"]
    paid = [line for line in clicks.office.ran if line.startswith("pay")]
    assert (stands, paid) in [
        ("pay 1 done", ["pay:1"]),
        ("too much", []),
        ("pay 7 done", ["pay:7"]),
        ("pay 8 done", ["pay:8"]),
    ]


@pytest.mark.parametrize("later", [REJECT, edit("pay", "9"), {"type": "respond", "message": "no"}])
async def test_an_answer_that_comes_after_the_call_is_over_changes_nothing(
    later, way, tmp_path, driver
):
    office = Office(tmp_path, driver, way, TURN)
    asked = await office.go()
    done = await office.decide(asked, c1=APPROVE)

    again = await office.decide(asked, c1=later)

    assert again["messages"] == done["messages"]
    assert office.ran == ["pay:1"]


def fails(_: str) -> str:
    raise TimeoutError("no answer")


async def test_run_again_is_one_more_body_and_no_more_questions(way, tmp_path, driver):
    office = Office(tmp_path, driver, way, TURN, bodies={"pay": fails})
    asked = await office.go()
    with pytest.raises(TimeoutError):
        await office.decide(asked, c1=APPROVE)
    office.bodies["pay"] = None

    doubt = await office.again()
    stale = await office.decide(asked, c1=APPROVE)
    ran_before = office.ran
    done = await office.decide(doubt, c1=APPROVE)

    assert requests(doubt) == requests(stale) == {"c1": ("raised", {"x": "1"})}
    assert ran_before == ["pay:1"]
    assert answers(done) == {"c1": "pay 1 done"}
    assert office.ran == ["pay:1", "pay:1"]


async def test_run_again_needs_no_approval_that_a_deploy_asks_for_meanwhile(way, tmp_path, driver):
    """Whoever says "run it again" has seen more than an approval shows."""
    office = Office(tmp_path, driver, way, TURN, bodies={"pay": fails}, confirm=())
    with pytest.raises(TimeoutError):
        await office.go()
    office.bodies["pay"], office.policies = None, {"pay": CONFIRM}

    doubt = await office.again()
    done = await office.decide(doubt, c1=APPROVE)

    assert requests(doubt) == {"c1": ("raised", {"x": "1"})}
    assert answers(done) == {"c1": "pay 1 done"}
    assert office.ran == ["pay:1", "pay:1"]


async def test_a_doubt_that_is_rejected_is_said_to_be_one(way, tmp_path, driver):
    office = Office(tmp_path, driver, way, TURN, bodies={"pay": fails})
    with pytest.raises(TimeoutError):
        await office.decide(await office.go(), c1=APPROVE)

    done = await office.decide(await office.again(), c1=REJECT)

    assert answers(done) == {"c1": "too much"}
    assert office.ran == ["pay:1"]


async def test_what_provably_did_nothing_runs_again_under_the_same_approval(way, tmp_path, driver):
    policy = ToolPolicy(confirm=True, did_not_happen=(TimeoutError,))
    confirm = {"pay": policy}
    office = Office(tmp_path, driver, way, TURN, bodies={"pay": fails}, confirm=confirm)
    with pytest.raises(TimeoutError):
        await office.decide(await office.go(), c1=APPROVE)
    office.bodies["pay"] = None

    done = await office.again()

    assert answers(done) == {"c1": "pay 1 done"}


@pytest.mark.parametrize("way", ["agent"])
async def test_a_retry_around_an_approved_call_asks_and_does_not_repeat(way, tmp_path, driver):
    """Field report B13: the effect may have happened; the approval was for one body."""

    def retry() -> list[Any]:
        return [ToolRetryMiddleware(max_retries=2, initial_delay=0, jitter=False)]

    office = Office(tmp_path, driver, way, TURN, bodies={"pay": fails}, inside=retry)

    asked = await office.decide(await office.go(), c1=APPROVE)

    assert requests(asked) == {"c1": ("raised", {"x": "1"})}
    assert office.ran == ["pay:1"]


@pytest.mark.parametrize("way", ["agent"])
async def test_a_retry_around_a_harmless_approved_call_asks_once(way, tmp_path, driver):
    tries: list[str] = []

    def flaky(x: str) -> str:
        tries.append(x)
        if len(tries) < 3:
            raise TimeoutError("no answer")
        return "paid"

    def retry() -> list[Any]:
        return [ToolRetryMiddleware(max_retries=2, initial_delay=0, jitter=False)]

    confirm = {"pay": ToolPolicy(confirm=True, idempotent=True)}
    office = Office(
        tmp_path, driver, way, TURN, bodies={"pay": flaky}, inside=retry, confirm=confirm
    )

    done = await office.decide(await office.go(), c1=edit("pay", "7"))

    assert answers(done) == {"c1": "paid"}
    assert tries == ["7", "7", "7"]


async def test_an_approved_body_that_asks_goes_on_with_its_answer(way, tmp_path, driver):
    """The approval lets the body begin; its own question is another one, asked and answered once."""

    def which(x: str) -> str:
        return f"from {interrupt('which account?')}"

    office = Office(tmp_path, driver, way, TURN, bodies={"pay": which})

    (own,) = interrupts(await office.decide(await office.go(), c1=APPROVE))
    (still,) = interrupts(await office.again())
    done = await office.answer({own.id: "savings"})

    assert (own.value, still.id) == ("which account?", own.id)
    assert answers(done) == {"c1": "from savings"}


async def test_a_body_in_a_tool_cannot_swallow_the_pause(way, tmp_path, driver):
    """Item 119: approval happens before the body."""

    def careless(x: str) -> str:
        try:
            return f"paid {x}"
        except BaseException:  # noqa: BLE001 - what the test is about
            return "went on"

    office = Office(tmp_path, driver, way, TURN, bodies={"pay": careless})

    asked = await office.go()

    assert requests(asked) == {"c1": ("approval", {"x": "1"})}
    assert office.ran == []
