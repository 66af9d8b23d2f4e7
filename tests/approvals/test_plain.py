"""The stored form of an approval: read strictly or refused, and written only where it can be read back."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from agent_adapter._sealing import KeyRing, seal  # a row in a form that no release writes
from agent_adapter.approvals import ApprovalDecision, SQLiteApprovalStore, StoredApproval
from agent_adapter.errors import CheckpointStoreCorrupt, NotSealable
from agent_adapter.testing.approvals import approval_request

KEY = "a key for tests " * 2
INSTANT = {"$datetime": ["2030-01-01T00:00:00", 0, ["offset", 0]]}
FORM: dict[str, Any] = {
    "v": 1,
    "request": {
        "id": "r1",
        "tool": "charge",
        "arguments": {"amount": 5},
        "digest": "d1",
        "call_id": "call-1",
        "run_id": None,
        "path": "",
        "reason": "",
        "created_at": INSTANT,
        "expires_at": None,
    },
    "decision": {
        "approved": True,
        "edits": None,
        "decided_by": "ann",
        "reason": "",
        "decided_at": INSTANT,
    },
    "consumer": None,
}
BINDING = {"kind": "approval", "id": "r1", "tool": "charge", "digest": "d1", "state": "decided"}


class Size(Enum):
    LARGE = 1


class Model(BaseModel):
    x: int = 1


@dataclass
class Data:
    x: int = 1


@pytest.fixture
def lay(file: Path, execute: Callable[..., list[Any]]) -> Callable[..., Any]:
    """A store over a file whose only row holds this form, sealed as it has to be."""

    async def laid(form: object) -> SQLiteApprovalStore:
        store = SQLiteApprovalStore(file, key=KEY)
        assert await store.get("r1") is None
        execute(
            "INSERT INTO agent_adapter_approvals VALUES (1, 'r1', NULL, 'charge', 'd1', 'decided', ?)",
            seal(KeyRing(KEY), form, BINDING),
        )
        return store

    return laid


async def test_the_form_of_this_release_is_read(lay: Callable[..., Any]) -> None:
    """The vector of format 1: what it holds, and that the cases below fail for their own reason."""
    instant = datetime(2030, 1, 1, tzinfo=UTC)
    request = approval_request(run_id=None, path="", reason="", created_at=instant)
    decision = ApprovalDecision(approved=True, decided_by="ann", decided_at=instant)
    stored = await (await lay(FORM)).get("r1")
    assert stored == StoredApproval(request, decision)
    assert (stored.request.created_at, stored.decision.decided_at) == (instant, instant)


def changed(*path: str, to: object = None, drop: bool = False) -> Any:
    form = deepcopy(FORM)
    part = form
    for name in path[:-1]:
        part = part[name]
    if drop:
        del part[path[-1]]
    else:
        part[path[-1]] = to
    return form


@pytest.mark.parametrize(
    "form",
    [
        pytest.param([], id="no object"),
        pytest.param(changed("v", to=2), id="a newer version"),
        pytest.param(changed("v", drop=True), id="no version"),
        pytest.param(changed("consumer", drop=True), id="no consumer"),
        pytest.param(changed("consumer", to=7), id="a consumer that is no text"),
        pytest.param({**changed("decision"), "consumer": "call a"}, id="used but undecided"),
        pytest.param(changed("extra"), id="an unknown part"),
        pytest.param(changed("request"), id="no request"),
        pytest.param(changed("request", "extra"), id="an unknown field of the request"),
        pytest.param(changed("request", "path", drop=True), id="a missing field of the request"),
        pytest.param(changed("request", "path"), id="a field that is no text"),
        pytest.param(changed("request", "created_at", to="2030-01-01"), id="a time that is text"),
        pytest.param(
            changed("request", "expires_at", to={"$datetime": ["2030-01-01T00:00:00", 0, None]}),
            id="a time without a zone",
        ),
        pytest.param(
            changed("decision", "edits", to={"x": {"$model": {"type": "os:x", "fields": {}}}}),
            id="a class",
        ),
        pytest.param(changed("decision", "extra"), id="an unknown field of the decision"),
        pytest.param(changed("decision", "edits", drop=True), id="a missing field of the decision"),
        pytest.param(changed("decision", "approved", to=1), id="approved is 1"),
        pytest.param(changed("decision", "approved", to="true"), id="approved is text"),
        pytest.param(changed("decision", "edits", to=[]), id="edits that are a list"),
    ],
)
async def test_any_other_form_is_refused(lay: Callable[..., Any], form: object) -> None:
    """Nothing is guessed, filled in or left out, though the seal is right."""
    store = await lay(form)
    for doing in (store.get("r1"), store.consume("r1", "call a")):
        with pytest.raises(CheckpointStoreCorrupt, match="form that this release does not read"):
            await doing


async def test_a_denial_with_edits_is_refused(lay: Callable[..., Any]) -> None:
    form = changed("decision", "edits", to={"amount": 1})
    form["decision"]["approved"] = False
    with pytest.raises(CheckpointStoreCorrupt):
        await (await lay(form)).consume("r1", "call a")


@pytest.mark.parametrize("odd", [object(), Size.LARGE, Model(), Data(), {Size.LARGE: 1}])
async def test_arguments_and_edits_that_could_not_be_read_back_are_refused(
    sqlite_approvals: SQLiteApprovalStore, odd: object
) -> None:
    """Also those of a class that could be written: nothing is stored of them."""
    with pytest.raises(NotSealable):
        await sqlite_approvals.park(approval_request(arguments={"x": [odd]}))
    assert await sqlite_approvals.get("r1") is None
    await sqlite_approvals.park(approval_request())
    with pytest.raises(NotSealable):
        await sqlite_approvals.decide(
            "r1", replace(ApprovalDecision(approved=True), edits={"x": [odd]})
        )
    assert await sqlite_approvals.get("r1") == StoredApproval(approval_request())


async def test_edits_with_an_exact_form_come_back_as_they_were(
    sqlite_approvals: SQLiteApprovalStore,
) -> None:
    edits = {"when": datetime(2030, 1, 1, tzinfo=UTC), "raw": b"\x00", "pair": (1, {2})}
    decision = ApprovalDecision(approved=True, edits=edits)
    await sqlite_approvals.park(approval_request())
    await sqlite_approvals.decide("r1", decision)
    assert await sqlite_approvals.consume("r1", "call a") == decision
