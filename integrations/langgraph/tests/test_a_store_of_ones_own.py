"""A store with the two protocols and nothing else carries the bridge; one without claims is refused when it is given."""

import pytest
from langgraph.types import Command
from lg_scripted import GO, THREAD, ScriptedChat, answers, ask, causes, durable_app, interrupts

from agent_adapter import ConfigError
from agent_adapter.exec.checkpoints import MemoryCheckpointStore
from agent_adapter_langgraph import DurableTools

CHAT = ScriptedChat(ask(("charge", "5", "c1")))
KEY = b"a key of at least sixteen bytes"
STORE = ("save", "latest", "record_call", "calls", "list_unfinished", "delete")


def only(*methods):
    """A memory store of which nothing but these methods is to be seen."""
    store = MemoryCheckpointStore()
    return type("Own", (), {name: staticmethod(getattr(store, name)) for name in methods})()


def test_it_records_replays_and_asks(way, sync_saver, oracle):
    """Item 59."""

    def fails(_: str) -> str:
        raise TimeoutError("no answer")

    store = only(*STORE, "claim_call", "position")
    durable = DurableTools(store, checkpoint_key=KEY, claim_wait_s=0.0)
    app = durable_app(way, durable, CHAT, [oracle.tool("charge", fails)], sync_saver)
    with pytest.raises(TimeoutError):
        app.invoke(GO, THREAD)

    asked = app.invoke(None, THREAD)
    (question,) = interrupts(asked)
    done = app.invoke(Command(resume={question.id: {"type": "respond", "message": "paid"}}), THREAD)

    assert causes(asked) == ["raised"]
    assert answers(done) == {"c1": "paid"}
    assert oracle.lines == ["charge:5"]


def test_without_a_key_of_its_own_it_needs_one(way, sync_saver, oracle, monkeypatch):
    """Item 102."""
    monkeypatch.delenv("AGENT_ADAPTER_CHECKPOINT_KEY", raising=False)
    durable = DurableTools(only(*STORE, "claim_call", "position"))
    app = durable_app(way, durable, CHAT, [oracle.tool("charge")], sync_saver)

    with pytest.raises(ConfigError, match=r"checkpoint_key.*AGENT_ADAPTER_CHECKPOINT_KEY"):
        app.invoke(GO, THREAD)

    assert oracle.lines == []


@pytest.mark.parametrize("missing", ["claim_call", "position"])
def test_without_claims_it_is_refused_at_once(missing):
    """Item 59."""
    with pytest.raises(ConfigError, match="CallClaims"):
        DurableTools(only(*STORE, *({"claim_call", "position"} - {missing})))


def test_records_of_a_store_that_cannot_list_its_runs_cannot_be_deleted_by_thread():
    durable = DurableTools(only(*STORE, "claim_call", "position"), checkpoint_key=KEY)

    for delete in (
        lambda: durable.delete_thread("thread"),
        lambda: durable.delete_run("order-42"),
        lambda: durable.prune(0),
    ):
        with pytest.raises(ConfigError, match="RunListing"):
            delete()
