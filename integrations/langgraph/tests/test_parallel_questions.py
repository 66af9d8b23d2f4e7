"""Tools of one turn that ask at the same time: each question has its own id, and each answer reaches only its own tool."""

import asyncio
from typing import Any

import pytest
from langgraph.types import Command, interrupt
from lg_scripted import (
    GO,
    THREAD,
    Oracle,
    ScriptedChat,
    answers,
    ask,
    bare_app,
    durable_app,
    interrupts,
)

TURN = ask(("a", "1", "c1"), ("b", "2", "c2"))
# LangGraph's own ToolNode, around wrapped tools, shows one question of a step at a time.
together = pytest.mark.parametrize("way", ["node", "agent"])


class Asking:
    """Tools a and b; in the first pass a reaches its question first, in every later pass b does."""

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self._reached = {"a": asyncio.Event(), "b": asyncio.Event()}
        self.first = "a"

    def later_pass(self) -> None:
        self.first = "b"
        for event in self._reached.values():
            event.clear()

    def tools(self) -> list[Any]:
        return [self._oracle.tool(name, self._body(name)) for name in "ab"]

    def _body(self, name: str) -> Any:
        async def body(x: str) -> str:
            if name != self.first:
                await self._reached[self.first].wait()
            try:
                said = interrupt(f"may {name}?")
            finally:
                self._reached[name].set()
            self._oracle.write(f"{name} was told {said}")
            return str(said)

        return body


def told(oracle: Oracle) -> list[str]:
    return sorted(line for line in oracle.lines if "told" in line)


@together
async def test_each_answer_reaches_the_tool_that_asked(way, durable, async_saver, oracle):
    asking = Asking(oracle)
    app = durable_app(way, durable, ScriptedChat(TURN), asking.tools(), async_saver)

    paused = await app.ainvoke(GO, THREAD)
    questions = {each.value: each.id for each in interrupts(paused)}
    asking.later_pass()
    done = await app.ainvoke(
        Command(resume={questions["may b?"]: "yes to b", questions["may a?"]: "no to a"}), THREAD
    )

    assert len(set(questions.values())) == 2
    assert told(oracle) == ["a was told no to a", "b was told yes to b"]
    assert answers(done) == {"c1": "no to a", "c2": "yes to b"}


@together
async def test_answers_may_come_one_by_one_in_any_order(way, durable, async_saver, oracle):
    asking = Asking(oracle)
    app = durable_app(way, durable, ScriptedChat(TURN), asking.tools(), async_saver)
    questions = {each.value: each.id for each in interrupts(await app.ainvoke(GO, THREAD))}

    asking.later_pass()
    waiting = await app.ainvoke(Command(resume={questions["may b?"]: "yes to b"}), THREAD)
    done = await app.ainvoke(Command(resume={questions["may a?"]: "no to a"}), THREAD)

    assert [each.id for each in interrupts(waiting)] == [questions["may a?"]]
    assert told(oracle) == ["a was told no to a", "b was told yes to b"]
    assert answers(done) == {"c1": "no to a", "c2": "yes to b"}


@together
async def test_an_answer_to_an_unknown_id_decides_nothing(way, durable, async_saver, oracle):
    app = durable_app(way, durable, ScriptedChat(TURN), Asking(oracle).tools(), async_saver)
    paused = await app.ainvoke(GO, THREAD)

    still = await app.ainvoke(Command(resume={"0" * 32: "yes"}), THREAD)

    assert {each.id for each in interrupts(still)} == {each.id for each in interrupts(paused)}
    assert told(oracle) == []


@together
async def test_a_bare_answer_to_two_questions_is_refused_before_anything_runs(
    way, durable, async_saver, oracle
):
    app = durable_app(way, durable, ScriptedChat(TURN), Asking(oracle).tools(), async_saver)
    await app.ainvoke(GO, THREAD)
    before = oracle.lines

    with pytest.raises(RuntimeError, match="interrupt id"):
        await app.ainvoke(Command(resume="yes"), THREAD)

    assert oracle.lines == before


async def test_wrapped_tools_in_langgraphs_own_node_are_asked_one_by_one(
    durable, async_saver, oracle
):
    asking = Asking(oracle)
    app = durable_app("wrapped", durable, ScriptedChat(TURN), asking.tools(), async_saver)

    state, shown = await app.ainvoke(GO, THREAD), []
    while (asked := interrupts(state)) and len(shown) < 4:
        asking.later_pass()
        shown += [each.value for each in asked]
        state = await app.ainvoke(
            Command(resume={each.id: f"for {each.value}" for each in asked}), THREAD
        )

    assert sorted(shown) == ["may a?", "may b?"]
    assert told(oracle) == ["a was told for may a?", "b was told for may b?"]
    assert answers(state) == {"c1": "for may a?", "c2": "for may b?"}


async def test_control_the_bare_tool_node_hands_answers_to_the_wrong_tool(async_saver, oracle):
    asking = Asking(oracle)
    app = bare_app("node", ScriptedChat(TURN), asking.tools(), async_saver)

    first = interrupts(await app.ainvoke(GO, THREAD))
    asking.later_pass()
    await app.ainvoke(Command(resume={first[0].id: f"for {first[0].value}"}), THREAD)

    assert [each.value for each in first] == ["may a?"]
    assert told(oracle) == ["b was told for may a?"]
