"""The arguments and conditions of a plan's steps: Ref takes values from other steps, `when` looks at their results."""

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel

from agent_adapter import CheckpointConflict, Executor, Registry, ToolError, ToolUsageError, tool
from agent_adapter.exec import Ref, Step, register_control_flow


class Page(BaseModel):
    url: str
    words: list[str] = []


@dataclass
class Found:
    pages: list[Page]
    total: int = field(default=2)


class Pair(NamedTuple):
    left: Any
    right: Any


class Pause(Exception):
    pass


register_control_flow(Pause)

FOUND = Found([Page(url="u0", words=["w"]), Page(url="u1")])
VALUES = {
    "found": FOUND,
    "table": {"0": "text key", "rows": [{"id": 7}], "pair": Pair("l", [1])},
    "open": defaultdict(list),
    "number": 5,
    "none": None,
}
asked: list[Any] = []


@tool
def give(name: str) -> Any:
    return VALUES[name]


@tool
def show(value: Any) -> Any:
    asked.append(value)
    return value


@tool
def fail() -> None:
    raise ValueError("no")


executor = Executor(Registry([give, show, fail]))


@pytest.fixture(autouse=True)
def empty():
    asked.clear()


async def shown(value: Any, *, when: Any = None):
    """The results of a plan that shows this value."""
    steps = [Step("show", "show", {"value": value}, when=when)]
    steps += [Step(name, "give", {"name": name}) for name in VALUES]
    return await executor.run_plan(steps)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("number", 5),
        ("none", None),
        ("found", FOUND),
        ("found.total", 2),
        ("found.pages.1.url", "u1"),
        ("found.pages.0.words.0", "w"),
        ("table.0", "text key"),
        ("table.rows.0.id", 7),
        ("table.pair.left", "l"),
        ("table.pair.1.0", 1),
    ],
)
async def test_a_ref_is_the_part_of_that_steps_value_and_makes_it_a_need(path, value):
    """Item 156: the step stands before those that it refers to."""
    assert (await shown(Ref(path)))["show"].value == value


async def test_refs_stand_anywhere_in_the_arguments_and_the_rest_stays_as_it_is():
    args = {"a": [1, Ref("number"), {"b": (Ref("found.total"), "Ref")}], "c": {}, "d": (1, [])}
    before = repr(args)
    results = await shown(args)
    assert results["show"].value == {"a": [1, 5, {"b": (2, "Ref")}], "c": {}, "d": (1, [])}
    assert repr(args) == before


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("table.x", "Ref('table.x'): 'table' is a dict without 'x'"),
        ("table.rows.1", "Ref('table.rows.1'): 'table.rows' is a list without '1'"),
        ("table.rows.-1", "Ref('table.rows.-1'): 'table.rows' is a list without '-1'"),
        ("table.rows.\N{ARABIC-INDIC DIGIT ZERO}", "'table.rows' is a list without"),
        ("table.rows." + "9" * 5000, "is a list without"),
        ("open.x", "Ref('open.x'): 'open' is a defaultdict without 'x'"),
        ("none.x", "Ref('none.x'): 'none' is a NoneType without 'x'"),
        ("found.pages.0.url.0", "'found.pages.0.url' is a str without '0'"),
        ("found.pages.0.model_dump", "'found.pages.0' is a Page without 'model_dump'"),
        ("found.__class__", "'found' is a Found without '__class__'"),
        ("number.real", "'number' is a int without 'real'"),
    ],
)
async def test_a_path_that_leads_nowhere_makes_the_arguments_invalid_and_nothing_runs(
    path, message
):
    """Item 156; only data is read, no method and no internals."""
    result = (await shown([Ref(path)]))["show"]
    assert (result.status, result.error.kind, result.attempts) == ("error", "invalid", 0)
    assert message in result.error.message
    assert asked == []
    assert VALUES["open"] == {}


async def test_a_field_that_has_no_value_leads_nowhere():
    bare = Found([])
    del bare.pages
    given = tool(name="given")(lambda: bare)
    results = await executor.run_plan(
        [Step("a", given), Step("b", "show", {"value": Ref("a.pages")})]
    )
    assert results["b"].error.message == "Ref('a.pages'): 'a' is a Found without 'pages'"


@pytest.mark.parametrize("path", ["", ".", "a.", ".a", "a..b", 5])
def test_a_malformed_ref_is_refused(path):
    with pytest.raises(ToolUsageError, match=r"'step\.part\.part'"):
        Ref(path)


async def test_arguments_that_hold_themselves_are_refused_and_nothing_runs():
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ToolUsageError, match="nested too deep, or holds itself"):
        await executor.run_plan(
            [Step("a", "show", {"value": 1}), Step("b", "show", {"v": endless})]
        )
    assert asked == []


async def test_when_sees_the_results_of_the_needs_and_false_skips_the_step_and_its_dependents():
    """Item 156."""
    seen = []

    def when(results):
        seen.append({name: result.value for name, result in results.items()})
        return results["number"].value > 5

    results = await executor.run_plan(
        [
            Step("number", "give", {"name": "number"}),
            Step("none", "give", {"name": "none"}),
            Step("other", "show", {"value": "other"}),
            Step("a", "show", {"value": Ref("none")}, needs=["number"], when=when),
            Step("b", "show", {"value": Ref("a")}),
            Step("c", "show", {"value": "c"}, needs=["number"], when=lambda results: True),
        ]
    )
    assert seen == [{"number": 5, "none": None}]
    assert asked == ["other", "c"]
    assert (results["a"].status, results["b"].status) == ("cancelled", "cancelled")
    assert results["a"].error == ToolError("skipped", "Skipped", "its `when` said False")
    assert results["b"].error.message == "of what it needs, 'a' was skipped"


async def test_when_is_not_asked_about_a_step_that_is_skipped_anyway():
    results = await executor.run_plan(
        [Step("a", "fail"), Step("b", "show", {"value": 1}, needs=["a"], when=asked.append)]
    )
    assert results["b"].error.kind == "skipped"
    assert asked == []


async def test_a_when_that_raises_is_the_steps_failure():
    """Item 156."""
    error = KeyError("x")

    def when(results):
        raise error

    result = (await shown(1, when=when))["show"]
    assert (result.status, result.error) == ("error", ToolError("failed", "KeyError", "'x'"))
    assert result.cause is error
    assert asked == []


@pytest.mark.parametrize("answer", [None, 1, [], lambda: asyncio.sleep(0)])
async def test_a_when_that_says_neither_true_nor_false_is_the_steps_failure(answer):
    """Nothing that merely looks true lets a step run."""
    result = (await shown(1, when=lambda results: answer() if callable(answer) else answer))["show"]
    assert (result.error.kind, result.error.type) == ("failed", "TypeError")
    assert "neither True nor False" in result.error.message
    assert asked == []


@pytest.mark.parametrize("signal", [Pause(), CheckpointConflict("run", "taken over")])
async def test_control_flow_and_errors_of_a_stored_run_escape_from_a_when(signal):
    """Item 10."""

    def when(results):
        raise signal

    with pytest.raises(type(signal)) as caught:
        await shown(1, when=when)
    assert caught.value is signal
    assert asked == []
