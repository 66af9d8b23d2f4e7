"""What a person is shown is what a model would send, and what a person sends back runs as it is written."""

import datetime
import enum
from typing import Any

import pytest
from pydantic import BaseModel
from tests.exec.loop_kit import Lab

from agent_adapter import (
    ApprovalDecision,
    Executor,
    MemoryApprovalStore,
    Registry,
    StoreApprovals,
    ToolCall,
    tool,
)


class Currency(enum.Enum):
    EUR = "eur"
    USD = "usd"


class Order(BaseModel):
    id: int
    cents: int = 5


TYPED = {"order": {"id": 7, "cents": 5}, "day": "2020-01-31", "currency": "eur", "tags": ["a"]}


class Desk:
    """Tools that need approval, and what their bodies were given."""

    def __init__(self) -> None:
        self.ran: list[Any] = []
        self.store = MemoryApprovalStore()

        @tool(confirm=True)
        async def pay(
            order: Order, day: datetime.date, currency: Currency, tags: set[str], n: int = 1
        ) -> str:
            self.ran.append((order, day, currency, tags, n))
            return "paid"

        @tool(confirm=True)
        async def update(doc: dict[str, Any], n: int = 1) -> str:
            self.ran.append((doc, n))
            return "updated"

        self.tools = Registry([pay, update])
        self.executor = Executor(self.tools, approvals=StoreApprovals(self.store))

    async def ask(self, name: str, arguments: dict[str, Any]) -> Any:
        await self.executor.run_call(ToolCall("c", name, arguments))
        [request] = await self.store.list_pending()
        return request


@pytest.fixture
def desk() -> Desk:
    return Desk()


def paid(n: int) -> list[Any]:
    return [(Order(id=7), datetime.date(2020, 1, 31), Currency.EUR, {"a"}, n)]


async def test_a_person_is_shown_what_a_model_would_send(desk):
    """Item 26."""
    request = await desk.ask("pay", TYPED)
    assert request.arguments == {**TYPED, "n": 1}


async def test_what_was_shown_can_be_changed_in_one_place_and_sent_back(desk):
    """Item 27."""
    request = await desk.ask("pay", TYPED)
    edits = {**request.arguments, "n": 2}
    result = await desk.executor.resume(request.id, ApprovalDecision(approved=True, edits=edits))
    assert (result.status, desk.ran) == ("ok", paid(2))


async def test_what_was_shown_can_be_changed_and_sent_back_to_a_paused_loop(desk, store):
    """Item 27, over a stored run."""
    lab = Lab(store)
    lab.tools = desk.tools
    lab.play([ToolCall("a", "pay", TYPED)], "end")
    result = await lab.run()
    edits = {**result.pending[0].arguments, "n": 3}
    await lab.decide(ApprovalDecision(approved=True, edits=edits))
    await lab.recover()
    assert desk.ran == paid(3)


MARKED = [
    {"$set": ["a", "b"]},
    {"$date": "2020-01-01"},
    {"$uuid": "00000000-0000-0000-0000-000000000000"},
    {"$bytes": "AAAA"},
    {"$dict": {'"a"': 1}},
    {"$ref": "#/$defs/a"},
]


@pytest.mark.parametrize("doc", [*MARKED, *({"x": each} for each in MARKED)], ids=str)
async def test_keys_of_a_person_mean_nothing_else(desk, doc):
    """Field report B39: what is edited is what is executed, also where a key looks like one of the stored form."""
    request = await desk.ask("update", {"doc": {}})
    decision = ApprovalDecision(approved=True, edits={"doc": doc})
    result = await desk.executor.resume(request.id, decision)
    assert (result.status, desk.ran) == ("ok", [(doc, 1)])


@pytest.mark.parametrize("doc", [*MARKED, *({"x": each} for each in MARKED)], ids=str)
async def test_keys_of_a_model_are_shown_as_they_are_and_come_back_as_they_are(desk, doc):
    """Item 27: the person changes `n` and nothing else."""
    request = await desk.ask("update", {"doc": doc})
    edits = {**request.arguments, "n": 2}
    result = await desk.executor.resume(request.id, ApprovalDecision(approved=True, edits=edits))
    assert request.arguments == {"doc": doc, "n": 1}
    assert (result.status, desk.ran) == ("ok", [(doc, 2)])


async def test_an_approval_without_edits_runs_what_was_shown(desk):
    """Item 115."""
    request = await desk.ask("pay", TYPED)
    result = await desk.executor.resume(request.id, True)
    assert (result.status, desk.ran) == ("ok", paid(1))


class Rounded(BaseModel):
    """Makes something else of what it wrote: its plain form does not say which one it is."""

    cents: int

    def model_post_init(self, _: Any) -> None:
        self.cents += 1


async def test_arguments_without_a_plain_form_are_shown_exactly_and_stand_when_sent_back(desk):
    """Item 27: only what the person changed changes."""
    ran = []

    @tool(confirm=True)
    async def charge(what: Rounded, n: int = 1) -> str:
        ran.append((what.cents, n))
        return "charged"

    desk.tools.add(charge)
    request = await desk.ask("charge", {"what": {"cents": 1}})
    edits = {**request.arguments, "n": 2}
    result = await desk.executor.resume(request.id, ApprovalDecision(approved=True, edits=edits))
    assert (result.status, ran) == ("ok", [(2, 2)])
