"""A function says which calls need approval: what it does not plainly say, nothing is run on."""

from typing import Any

import pytest
from lg_approvals import APPROVE, CONFIRM, Office, edit, requests
from lg_scripted import THREAD, answers, ask

from agent_adapter import ToolPolicy
from agent_adapter.errors import ConfigError, ToolUsageError

TURN = ask(("pay", "1", "c1"), ("pay", "1000", "c2"))


def large(args: Any, _ctx: Any) -> bool:
    return int(args["x"]) > 100


async def large_async(args: Any, _ctx: Any) -> bool:
    return int(args["x"]) > 100


@pytest.mark.parametrize("confirm", [large, large_async], ids=["sync", "async"])
async def test_only_the_calls_that_it_names_wait(confirm, way, tmp_path, driver):
    office = Office(tmp_path, driver, way, TURN, confirm={"pay": ToolPolicy(confirm=confirm)})

    asked = await office.go()
    done = await office.decide(asked, c2=APPROVE)

    assert requests(asked) == {"c2": ("approval", {"x": "1000"})}
    assert answers(done) == {"c1": "pay 1 done", "c2": "pay 1000 done"}
    assert sorted(office.ran) == ["pay:1", "pay:1000"]


def broken(_args: Any, _ctx: Any) -> bool:
    raise LookupError("no such customer")


async def broken_async(_args: Any, _ctx: Any) -> bool:
    raise LookupError("no such customer")


@pytest.mark.parametrize("confirm", [broken, broken_async], ids=["sync", "async"])
async def test_one_that_raises_lets_nothing_run(confirm, way, tmp_path, driver):
    confirm = {"pay": ToolPolicy(confirm=confirm)}
    office = Office(tmp_path, driver, way, ask(("pay", "1", "c1")), confirm=confirm)

    with pytest.raises(LookupError, match="no such customer"):
        await office.go()

    assert office.ran == []


@pytest.mark.parametrize("said", [None, 0, 1, "no", "", [], object()], ids=repr)
async def test_one_that_says_neither_true_nor_false_lets_nothing_run(said, way, tmp_path, driver):
    confirm = {"pay": ToolPolicy(confirm=lambda _args, _ctx: said)}
    office = Office(tmp_path, driver, way, ask(("pay", "1", "c1")), confirm=confirm)

    with pytest.raises(ToolUsageError, match="confirm says True or False"):
        await office.go()

    assert office.ran == []


async def test_mended_the_same_call_goes_on(way, tmp_path, driver):
    """What the broken function left is no doubt and no answer."""
    office = Office(
        tmp_path,
        driver,
        way,
        ask(("pay", "1", "c1")),
        confirm={"pay": ToolPolicy(confirm=broken)},
    )
    with pytest.raises(LookupError):
        await office.go()
    office.policies = {"pay": CONFIRM}

    asked = await office.again()
    done = await office.decide(asked, c1=APPROVE)

    assert requests(asked) == {"c1": ("approval", {"x": "1"})}
    assert answers(done) == {"c1": "pay 1 done"}


async def test_it_is_given_the_models_arguments_and_the_run(way, tmp_path, driver):
    told: list[Any] = []

    def listen(args: Any, ctx: Any) -> bool:
        told.append((args["x"], ctx.run_id))
        return False

    confirm = {"pay": ToolPolicy(confirm=listen)}
    office = Office(tmp_path, driver, way, ask(("pay", "1", "c1")), confirm=confirm)

    await office.go()

    assert set(told) == {("1", "thread")}


@pytest.mark.parametrize(
    "kind", [{"read_only": True}, {"idempotent": True}, {"read_only": True, "idempotent": True}]
)
async def test_a_tool_without_harm_waits_too_if_somebody_says_so(kind, way, tmp_path, driver):
    confirm = {"pay": ToolPolicy(confirm=True, **kind)}
    office = Office(tmp_path, driver, way, ask(("pay", "1", "c1")), confirm=confirm)

    asked = await office.go()
    waiting = requests(await office.again()), office.ran
    done = await office.decide(asked, c1=APPROVE)

    assert waiting == ({"c1": ("approval", {"x": "1"})}, [])
    assert answers(done) == {"c1": "pay 1 done"}
    assert office.ran == ["pay:1"]


async def test_an_approval_of_what_the_function_saw_is_none_of_what_it_sees_now(
    way, tmp_path, driver
):
    """Item 117: the model is asked again and wants something else under the same ids."""
    office = Office(tmp_path, driver, way, ask(("pay", "1", "c1")))
    asked = await office.go()
    app = office.app()
    state = await _state(driver, app)
    message = state.values["messages"][-1].model_copy(deep=True)
    message.tool_calls[0]["args"] = {"x": "900"}
    await _update(driver, app, {"messages": [message]})

    still = await office.decide(asked, c1=APPROVE)

    assert requests(still) == {"c1": ("approval", {"x": "900"})}
    assert office.ran == []


async def _state(driver: Any, app: Any) -> Any:
    return await app.aget_state(THREAD) if driver.kind == "async" else app.get_state(THREAD)


async def _update(driver: Any, app: Any, values: Any) -> None:
    if driver.kind == "async":
        await app.aupdate_state(THREAD, values)
    else:
        app.update_state(THREAD, values)


class _Without:
    """No checkpointer."""

    def __init__(self, driver: Any) -> None:
        self._driver = driver
        self.saver = None
        self.invoke = driver.invoke


@pytest.mark.parametrize("kind", [{}, {"read_only": True}, {"idempotent": True}], ids=str)
@pytest.mark.parametrize("settings", [{}, {"allow_unsaved": True}], ids=str)
async def test_where_nothing_could_wait_the_call_is_refused(
    *, settings, kind, way, tmp_path, driver
):
    """Without a checkpointer: not even `allow_unsaved` lets a call run that nobody approved."""
    confirm = {"pay": ToolPolicy(confirm=True, **kind)}
    turn = ask(("pay", "1", "c1"))
    office = Office(tmp_path, _Without(driver), way, turn, confirm=confirm, **settings)

    with pytest.raises(ConfigError, match="checkpointer"):
        await office.go()

    assert office.ran == []


@pytest.mark.parametrize(
    "way",
    [
        "node",
        pytest.param(
            "agent",
            marks=pytest.mark.xfail(
                strict=True, reason="a hook after the model is not told which tools there are"
            ),
        ),
        "wrapped",
    ],
)
async def test_a_policy_for_a_tool_that_there_is_not_asks_nobody(way, tmp_path, driver):
    office = Office(tmp_path, driver, way, ask(("nothing", "1", "c1")), confirm=("nothing", "pay"))

    done = await office.go()

    assert "not a valid tool" in answers(done)["c1"]
    assert office.ran == []


async def test_a_tool_whose_server_calls_it_harmless_waits_if_the_policy_says_so(
    way, tmp_path, driver
):
    office = Office(tmp_path, driver, way, ask(("pay", "1", "c1")), trust_annotations=True)
    make = office.oracle.tool

    def annotated(name: str, then: Any = None) -> Any:
        tool = make(name, then)
        tool.metadata = {"readOnlyHint": True, "idempotentHint": True}
        return tool

    office.oracle.tool = annotated

    asked = await office.go()

    assert requests(asked) == {"c1": ("approval", {"x": "1"})}
    assert office.ran == []


async def test_without_a_gate_nothing_waits_here(way, tmp_path, driver):
    office = Office(tmp_path, driver, way, TURN, gate=False)

    done = await office.go()

    assert answers(done) == {"c1": "pay 1 done", "c2": "pay 1000 done"}


async def test_an_edit_is_shown_to_the_function_no_more(way, tmp_path, driver):
    """The person decided about the call: the edited arguments are the person's."""
    confirm = {"pay": ToolPolicy(confirm=large)}
    office = Office(tmp_path, driver, way, ask(("pay", "1000", "c1")), confirm=confirm)

    done = await office.decide(await office.go(), c1=edit("pay", "2000"))

    assert answers(done) == {"c1": "pay 2000 done"}
