"""Tool and @tool: schema, validation, ctx, what is refused at decoration."""

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from agent_adapter import ConfigError, RunContext, Tool, ToolPolicy, ToolSpec, ToolUsageError, tool
from agent_adapter.tools import InvalidArguments


class Point(BaseModel):
    x: int
    y: int = 0


@tool
def charge(
    amount: Annotated[int, Field(gt=0, description="in cents")], currency: str = "EUR"
) -> str:
    """Charge the card."""
    return f"{amount} {currency}"


def test_a_tool_takes_name_description_schema_and_return_type_from_its_function():
    assert charge.spec == ToolSpec(
        name="charge",
        description="Charge the card.",
        parameters={
            "additionalProperties": False,
            "properties": {
                "amount": {
                    "description": "in cents",
                    "exclusiveMinimum": 0,
                    "title": "Amount",
                    "type": "integer",
                },
                "currency": {"default": "EUR", "title": "Currency", "type": "string"},
            },
            "required": ["amount"],
            "title": "charge",
            "type": "object",
        },
    )
    assert charge.returns is str


def test_settings_of_the_decorator_become_fields_of_the_tool():
    @tool(name="pay", description="Pay.", idempotent=True, timeout=2.5, tags=("money",))
    def f() -> None: ...

    assert (f.name, f.description, f.idempotent, f.timeout, f.tags) == (
        "pay",
        "Pay.",
        True,
        2.5,
        ("money",),
    )


def test_a_tool_is_its_own_policy():
    assert isinstance(charge, ToolPolicy)


def test_a_copy_with_another_policy_takes_the_same_arguments():
    copy = replace(charge, read_only=True)
    assert (copy.read_only, copy.spec) == (True, charge.spec)
    assert copy.validate({"amount": "5"}) == {"amount": 5, "currency": "EUR"}


def test_validation_converts_and_completes_the_arguments():
    assert charge.validate({"amount": "5"}) == {"amount": 5, "currency": "EUR"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "amount: Field required"),
        ({"amount": 0}, "amount: Input should be greater than 0"),
        ({"amount": 1, "colour": "red"}, "colour: Extra inputs are not permitted"),
        ("[1]", "Input should be a valid dictionary or instance of charge"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_by_name_and_without_their_values(arguments, message):
    with pytest.raises(InvalidArguments) as caught:
        charge.validate(arguments)
    assert str(caught.value) == message


def test_names_that_pydantic_keeps_for_itself_are_fine_as_arguments():
    @tool
    def odd(json: int, schema: int, model_config: int, _private: int, arg_0: int) -> None: ...

    given = {"json": 1, "schema": 2, "model_config": 3, "_private": 4, "arg_0": 5}
    assert odd.validate(given) == given
    assert list(odd.spec.parameters["properties"]) == list(given)


def test_a_pydantic_field_as_default_describes_the_argument():
    positive, listed = Field(gt=0), Field(default_factory=list, description="Y")

    @tool
    def f(x: int = positive, y: list[int] = listed) -> None: ...

    assert f.validate({"x": 1}) == {"x": 1, "y": []}
    assert f.spec.parameters["required"] == ["x"]
    assert f.spec.parameters["properties"]["y"]["description"] == "Y"
    with pytest.raises(InvalidArguments, match="x: Input should be greater than 0"):
        f.validate({"x": 0})


def test_an_internal_field_name_is_no_argument():
    with pytest.raises(InvalidArguments):
        charge.validate({"arg_0": 5})


def test_an_explicit_model_stands_for_the_arguments():
    @tool(parameters=Point)
    def move(x: Any, y: Any) -> None: ...

    assert move.parameters is Point
    assert move.validate({"x": "3"}) == {"x": 3, "y": 0}


class WithContext(BaseModel):
    ctx: str


@pytest.mark.parametrize("model", [Point, WithContext])
def test_an_explicit_model_has_to_fit_the_function(model):
    with pytest.raises(ToolUsageError, match="tool 'move'"):

        @tool(parameters=model)
        def move(x: Any = 0, ctx: RunContext | None = None) -> None: ...


async def test_ctx_is_handed_over_and_is_no_argument():
    @tool
    async def who(ctx: RunContext, greeting: str = "hi") -> str:
        return f"{greeting} {ctx.user}"

    assert list(who.spec.parameters["properties"]) == ["greeting"]
    assert who.validate({}) == {"greeting": "hi"}
    assert await who.start({"greeting": "hi"}, RunContext(user="ada")) == "hi ada"


def test_a_ctx_of_another_type_is_refused():
    with pytest.raises(ToolUsageError, match="'f': the argument 'ctx' is always the RunContext"):

        @tool
        def f(ctx: str) -> None: ...


def _varargs(*args: int) -> None: ...
def _kwargs(**kwargs: int) -> None: ...
def _positional(x: int, /) -> None: ...
def _unresolved(x: "Missing") -> None: ...  # noqa: F821
def _no_schema(x: Callable[[], "int"] | pytest.Config) -> None: ...


@pytest.mark.parametrize("fn", [_varargs, _kwargs, _positional, _unresolved, _no_schema])
def test_a_signature_that_has_no_schema_is_refused_at_decoration(fn):
    with pytest.raises(ToolUsageError, match=fn.__name__):
        tool(fn)


@pytest.mark.parametrize("name", ["", "a/b", "a:b", "a b", "é", "x" * 129, 5])
def test_a_name_that_could_not_stand_in_a_key_is_refused(name):
    with pytest.raises(ToolUsageError, match="1 to 128"):
        Tool(name=name, fn=charge.fn)


@pytest.mark.parametrize(
    "wrong",
    [
        {"idempotent": 1},
        {"read_only": "yes"},
        {"reconcile": 5},
        {"did_not_happen": ValueError},
        {"did_not_happen": (int,)},
        {"confirm": "always"},
        {"timeout": 0},
        {"timeout": True},
        {"timeout": float("nan")},
        {"timeout": "5"},
        {"retry": 0},
        {"retry": True},
        {"cache": -1},
        {"guards": [print]},
        {"tags": "handoff"},
    ],
)
def test_a_policy_field_with_an_impossible_value_is_refused_by_name(wrong):
    with pytest.raises(ConfigError, match=f"^{next(iter(wrong))} is "):
        ToolPolicy(**wrong)


async def test_callable_objects_and_partials_are_functions_too():
    class Adder:
        async def __call__(self, x: int) -> int:
            return x + 1

    def add(x: int, y: int) -> int:
        return x + y

    adder = tool(name="adder")(Adder())
    partial = tool(name="partial")(functools.partial(add, y=2))
    assert await adder.start(adder.validate({"x": 1}), RunContext()) == 2
    assert await partial.start(partial.validate({"x": 1}), RunContext()) == 3
