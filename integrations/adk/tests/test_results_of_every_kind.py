"""Results of every kind come out of the record as they went in: the same value, of the same type."""

import datetime
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

import pytest
from adk_kit import ScriptedModel, agent, ask
from adk_stage import Stopping, stop
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.function_tool import FunctionTool
from google.genai import types
from pydantic import BaseModel

WHEN = datetime.datetime(2026, 5, 17, 12, 30, tzinfo=datetime.UTC)


class Receipt(BaseModel):
    number: int
    at: datetime.datetime


@dataclass
class Stub:
    name: str


class Colour(Enum):
    RED = "red"


RESULTS = {
    "a dict": {"a": [1, 2.5, None, True]},
    "nothing": None,
    "text": "text",
    "a list": ["a", {"b": 1}],
    "a tuple": ("a", 1),
    "bytes": b"\x00\xff",
    "a date": {"at": WHEN},
    "a decimal": Decimal("1.10"),
    "a model": Receipt(number=7, at=WHEN),
    "a dataclass": Stub("stub"),
    "an enum": Colour.RED,
    "a part": types.Part(inline_data=types.Blob(data=b"\x89PNG", mime_type="image/png")),
    "a response": types.FunctionResponse(name="make", response={"a": 1}),
}


class Results(BasePlugin):
    """What the tools gave, as ADK and everything behind the record see it."""

    def __init__(self):
        super().__init__(name="results")
        self.seen = []

    async def after_tool_callback(self, *, tool, tool_args, tool_context, result):
        self.seen.append(result)


def root(oracle, result):
    async def make() -> Receipt | Stub | Colour | None:
        """make"""
        oracle.write("make")
        return result

    return agent(ScriptedModel([ask("make")]), FunctionTool(make))


@pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS.keys())
async def test_it_is_replayed_with_value_and_type(oracle, make_chat, make_durable, result):
    first, again = Results(), Results()
    chat = make_chat(root(oracle, result), plugins=(first, Stopping()))
    await stop(chat)

    await make_chat(root(oracle, "another"), with_=make_durable(), plugins=(again,)).resume()

    assert oracle.lines == ["make"]
    assert [(type(each), each) for each in first.seen] == [(type(result), result)]
    assert [(type(each), each) for each in again.seen] == [(type(result), result)]
