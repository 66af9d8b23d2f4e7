"""Records are sealed: with a key that is too short nothing begins, and a changed or foreign record stops the run."""

import sqlite3
import zlib
from contextlib import closing

import pytest
from adk_kit import ScriptedModel, agent, ask, responses
from adk_stage import Stopping, stop

from agent_adapter.errors import CheckpointStoreCorrupt, ConfigError
from agent_adapter_adk import Stopped

KEY, OTHER = b"0123456789abcdef", b"fedcba9876543210"


def root(oracle):
    return agent(ScriptedModel([ask("pay", "a")]), oracle.tool("pay"))


def flip(path):
    """Change one byte of the finished call's result."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(
            "SELECT id, document FROM agent_adapter_records WHERE state = 'done'"
        ).fetchall()
        for name, document in rows:
            text = document if isinstance(document, str) else zlib.decompress(document).decode()
            changed = text.replace("pay a", "pay b")
            connection.execute(
                "UPDATE agent_adapter_records SET document = ? WHERE id = ?", (changed, name)
            )
        connection.commit()


async def test_a_flipped_byte_stops_the_run(tmp_path, make_chat, oracle):
    await stop(make_chat(root(oracle), plugins=(Stopping(),)))
    flip(tmp_path / "runs.db")
    chat = make_chat(root(oracle))
    before = (await chat.session()).events

    with pytest.raises(Stopped) as stopped:
        await chat.resume()

    assert type(stopped.value.__cause__) is CheckpointStoreCorrupt
    assert (await chat.session()).events == before
    assert oracle.lines == ["pay:a"]


async def test_a_record_under_another_key_is_not_believed(make_durable, make_chat, oracle):
    written = make_durable(checkpoint_key=KEY)
    await stop(make_chat(root(oracle), with_=written, plugins=(Stopping(),)))

    with pytest.raises((RuntimeError, Stopped)) as refused:
        await make_chat(root(oracle), with_=make_durable(checkpoint_key=OTHER)).resume()

    assert type(refused.value.__cause__) is CheckpointStoreCorrupt
    assert oracle.lines == ["pay:a"]


async def test_an_older_key_still_opens(make_durable, make_chat, oracle):
    written = make_durable(checkpoint_key=KEY)
    await stop(make_chat(root(oracle), with_=written, plugins=(Stopping(),)))

    rotated = make_durable(checkpoint_key=[OTHER, KEY])
    events = await make_chat(root(oracle), with_=rotated).resume()

    assert responses(events) == {"pay": {"did": "pay a"}}
    assert oracle.lines == ["pay:a"]


async def test_a_key_that_is_too_short_is_refused_before_anything(make_durable, make_chat, oracle):
    chat = make_chat(root(oracle), with_=make_durable(checkpoint_key=b"short"))

    with pytest.raises(RuntimeError) as refused:
        await chat.say()

    assert type(refused.value.__cause__) is ConfigError
    assert (await chat.session()).events == []
    assert oracle.lines == []
