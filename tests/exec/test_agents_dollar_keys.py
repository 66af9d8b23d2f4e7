"""An agent whose model writes keys that begin with "$" is recovered like any other."""

import pytest
from tests.exec.agents_kit import Bench, Killed, agent, ask, play, said, shown

from agent_adapter import tool
from agent_adapter.models import ModelReply

QUERIES = [
    {"age": {"$gt": 5}},
    {"$set": ["a"]},
    {"$dict": {'"a"': 1}},
    {"$schema": {"$ref": "#/$defs/a"}},
]


@pytest.mark.parametrize("query", QUERIES, ids=str)
async def test_a_call_with_such_arguments_replays_after_a_crash(store, query):
    """Items 88, 90: the reply that asked for it is read back as it was."""
    bench = Bench(store)

    @tool
    async def find(query: dict) -> str:
        bench.effect("find", query)
        return "found"

    helper_model = play([ask("find", "f", query=query)], [ask("note", text="x")], "helped")
    model, tools = play([ask("helper", task="t")], "done"), [agent(helper_model, find, bench.note)]
    bench.dies_in = {"note"}
    with pytest.raises(Killed):
        await bench.run(model, tools)
    bench.dies_in = set()
    result = await bench.recover(model, tools)
    assert said(result)[2:] == [("tool", "helped"), ("assistant", "done")]
    assert bench.ran == [("find", query), ("note", "x"), ("note", "x")]
    [first, *_] = helper_model.requests[-1].messages[1].calls
    assert first.arguments == {"query": query}
    assert shown(helper_model)[0] == "t"


async def test_such_keys_in_what_a_reply_brings_along_come_back_as_they_were(store):
    """Item 88: `extra` of the agent's reply is told to the model again, unchanged."""
    bench = Bench(store)
    extra = {"raw": {"$bytes": "AAAA"}}
    first = ModelReply(calls=(ask("note", text="x"),), extra=extra)
    helper_model = play(first, "helped")
    model, tools = play([ask("helper", task="t")], "done"), [agent(helper_model, bench.note)]
    bench.dies_in = {"note"}
    with pytest.raises(Killed):
        await bench.run(model, tools)
    bench.dies_in = set()
    await bench.recover(model, tools)
    assert helper_model.requests[-1].messages[1].extra == extra
