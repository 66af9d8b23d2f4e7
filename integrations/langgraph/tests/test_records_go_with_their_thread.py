"""Records are deleted with their thread or their request, and pruned when they are old; what is in doubt is never pruned."""

import pytest
from lg_scripted import GO, THREAD, ScriptedChat, answers, ask, durable_app, interrupts

from agent_adapter import ConfigError

CHAT = ScriptedChat(ask(("charge", "5", "c1")))
OTHER = {"configurable": {"thread_id": "other"}}
NAMED = {"configurable": {"thread_id": "named", "agent_adapter_run": "order-42"}}


@pytest.fixture
def app(way, durable, sync_saver, oracle):
    return durable_app(way, durable, CHAT, [oracle.tool("charge")], sync_saver)


async def kept(durable) -> int:
    return len(await durable.store.list_runs())


async def test_the_records_of_a_thread_go_and_no_others(app, durable):
    app.invoke(GO, THREAD)
    of_one = await kept(durable)
    app.invoke(GO, OTHER)
    app.invoke(GO, NAMED)
    of_all = await kept(durable)

    assert await durable.adelete_thread("thread") == of_one
    assert await kept(durable) == of_all - of_one
    assert await durable.adelete_thread("thread") == 0
    assert await durable.adelete_thread("nobody's") == 0


async def test_a_request_whose_records_are_gone_starts_anew(app, durable, oracle):
    app.invoke(GO, NAMED)
    assert await durable.adelete_run("order-42") > 0

    again = {"configurable": {"thread_id": "again", "agent_adapter_run": "order-42"}}
    assert answers(app.invoke(GO, again)) == {"c1": "charge 5 done"}

    assert oracle.lines == ["charge:5", "charge:5"]


async def test_old_finished_records_are_pruned(app, durable):
    app.invoke(GO, THREAD)
    app.invoke(GO, NAMED)
    all_of_them = await kept(durable)

    assert await durable.aprune(3600) == 0
    assert await kept(durable) == all_of_them
    assert await durable.aprune(0) == all_of_them
    assert await kept(durable) == 0


async def test_what_is_in_doubt_is_kept_however_old(way, durable, sync_saver, oracle):
    def fails(_: str) -> str:
        raise TimeoutError("no answer")

    app = durable_app(way, durable, CHAT, [oracle.tool("charge", fails)], sync_saver)
    with pytest.raises(TimeoutError):
        app.invoke(GO, THREAD)

    await durable.aprune(0)

    assert len(interrupts(app.invoke(None, THREAD))) == 1
    assert oracle.lines == ["charge:5"]


def test_from_sync_code_too(app, durable):
    app.invoke(GO, THREAD)
    app.invoke(GO, NAMED)

    assert durable.delete_thread("thread") > 0
    assert durable.delete_run("order-42") > 0
    assert durable.prune(0) >= 0


@pytest.mark.parametrize("age", [-1, True, "1", None])
async def test_an_age_is_a_number_of_seconds(age, app, durable):
    app.invoke(GO, THREAD)
    before = await kept(durable)

    with pytest.raises(ConfigError, match="older_than_s"):
        await durable.aprune(age)

    assert await kept(durable) == before
