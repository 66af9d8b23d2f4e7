"""A foreign, broken or newer database, and a wrong or lost key: refused before the effect, named, and left as it was."""

import sqlite3
from contextlib import closing

import pytest
from lg_scripted import GO, THREAD, ScriptedChat, answers, ask, durable_app

from agent_adapter import CheckpointStoreCorrupt, ConfigError

CHAT = ScriptedChat(ask(("charge", "5", "c1")))
KEY, OTHER_KEY = b"k" * 32, b"o" * 32


def foreign(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE agent_adapter_checkpoints (mine TEXT)")


def newer(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE agent_adapter_meta (key TEXT PRIMARY KEY, value TEXT)")
        connection.execute("INSERT INTO agent_adapter_meta VALUES ('schema', '999')")
        connection.commit()


def no_database(path):
    path.write_bytes(b"these are not the pages of a database" * 200)


def refused(make, app, path, error) -> str:
    """The text of the error with which this database is refused; the file stays as it was."""
    make(path)
    before = path.read_bytes()
    with pytest.raises(error) as raised:
        app.invoke(GO, THREAD)
    assert path.read_bytes() == before
    return str(raised.value)


@pytest.fixture
def app(way, make_durable, sync_saver, oracle):
    return durable_app(way, make_durable(), CHAT, [oracle.tool("charge")], sync_saver)


@pytest.mark.parametrize("make", [foreign, newer], ids=lambda make: make.__name__)
def test_a_database_of_somebody_else(make, app, tmp_path, oracle):
    path = tmp_path / "runs.db"

    message = refused(make, app, path, ConfigError)

    assert [words for words in (str(path), "use") if words not in message] == []
    assert oracle.lines == []


def test_the_foreign_table_is_named(app, tmp_path):
    message = refused(foreign, app, tmp_path / "runs.db", ConfigError)

    assert "agent_adapter_checkpoints" in message


def test_a_file_that_is_no_database(app, tmp_path, oracle):
    message = refused(no_database, app, tmp_path / "runs.db", ConfigError)

    assert "not a SQLite database" in message
    assert oracle.lines == []


def test_the_file_that_is_no_database_is_named(app, tmp_path):
    path = tmp_path / "runs.db"

    assert str(path) in refused(no_database, app, path, Exception)


@pytest.mark.parametrize("key", [b"too short", "", []], ids=repr)
def test_a_key_that_is_none(key, way, make_durable, sync_saver, oracle):
    durable = make_durable(checkpoint_key=key)
    app = durable_app(way, durable, CHAT, [oracle.tool("charge")], sync_saver)

    with pytest.raises(ConfigError, match="key"):
        app.invoke(GO, THREAD)

    assert oracle.lines == []


def fails(_: str) -> str:
    raise TimeoutError("no answer")


def test_a_wrong_key_reads_nothing_and_the_right_one_goes_on(way, make_durable, sync_saver, oracle):
    """Items 100 and 101, through a graph."""

    def app(*keys, then=None):
        durable = make_durable(checkpoint_key=list(keys))
        return durable_app(way, durable, CHAT, [oracle.tool("charge", then)], sync_saver)

    with pytest.raises(TimeoutError):
        app(KEY, then=fails).invoke(GO, THREAD)

    with pytest.raises(CheckpointStoreCorrupt, match="key"):
        app(OTHER_KEY).invoke(None, THREAD)

    assert len(app(OTHER_KEY, KEY).invoke(None, THREAD)["__interrupt__"]) == 1
    assert oracle.lines == ["charge:5"]


def test_a_lost_key_file(way, make_durable, sync_saver, tmp_path, oracle):
    """Item 102, through a graph."""
    app = durable_app(way, make_durable(), CHAT, [oracle.tool("charge", fails)], sync_saver)
    with pytest.raises(TimeoutError):
        app.invoke(GO, THREAD)
    key = tmp_path / "runs.db.key"
    key.rename(tmp_path / "elsewhere")
    app = durable_app(way, make_durable(), CHAT, [oracle.tool("charge")], sync_saver)

    with pytest.raises(ConfigError, match=r"runs\.db\.key"):
        app.invoke(None, THREAD)
    (tmp_path / "elsewhere").rename(key)
    app = durable_app(way, make_durable(), CHAT, [oracle.tool("charge")], sync_saver)

    assert answers(app.invoke(None, THREAD)) == {}
    assert oracle.lines == ["charge:5"]
