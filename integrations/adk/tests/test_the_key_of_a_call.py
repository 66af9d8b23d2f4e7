"""`idempotency_key()` in a tool is the call's own: the same in every attempt, another one for every other call."""

from adk_kit import ScriptedModel, agent, ask
from adk_stage import Stage
from adk_steps import graph

from agent_adapter.exec.checkpoints import idempotency_key


def root(stage):
    """Pays twice alike in one turn; the second payment is where a process may die."""

    async def pay(x: str) -> str:
        """Pay."""
        stage.oracle.write(f"{x}:{idempotency_key()}")
        await stage.point(f"pay:{x}")
        return "paid"

    return agent(ScriptedModel([ask("pay", "a")], [ask("pay", "b")]), pay)


def killed(folder):
    Stage(folder, "pay:b").perform(root)


def keys(oracle):
    return [line.split(":") for line in oracle.lines]


async def test_it_is_the_same_in_every_attempt(tmp_path, in_child, make_chat, oracle):
    assert in_child(killed, tmp_path) == -9
    chat = make_chat(root(Stage(tmp_path)))
    await chat.resume()
    (asked,) = await chat.pending()

    await chat.answer("approve")

    (first, one), (second, two), (again, three) = keys(oracle)
    assert [first, second, again] == ["a", "b", "b"]
    assert two == three == asked.payload["idempotency_key"]
    assert one != two


async def test_a_step_has_one_too(durable, make_chat, oracle):
    def pay(x):
        oracle.write(f"{x}:{idempotency_key()}")

    @durable.node
    async def settle(ctx) -> None:
        """Pay twice alike."""
        await durable.step(ctx, pay, "a")
        await durable.step(ctx, pay, "a")

    await make_chat(graph(settle)).say()

    one, two = [key for _, key in keys(oracle)]
    assert (len(one), len(two), one == two) == (64, 64, False)


async def test_there_is_none_outside(durable):
    assert idempotency_key() is None
