"""DurableTools: what it cannot do it refuses when it is made, by the name of the setting and of the tool, and makes no file."""

import math

import pytest

from agent_adapter import ConfigError, ToolPolicy
from agent_adapter_adk import DurableTools, Mends

NOT_BUILT = {
    "guards": {"guards": (print,)},
    "cache": {"cache": 60.0, "idempotent": True},
    "retry": {"retry": 3},
    "timeout": {"timeout": 5.0},
}


@pytest.mark.parametrize("field", NOT_BUILT)
def test_a_policy_that_is_not_carried_out_is_never_ignored(field, tmp_path):
    policies = {"search": ToolPolicy(read_only=True), "charge": ToolPolicy(**NOT_BUILT[field])}

    with pytest.raises(ConfigError, match=rf"policies\['charge'\]\.{field} .* ADK .* leave it out"):
        DurableTools(tmp_path / "runs.db", policies=policies)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("confirm", [True, lambda _args, _ctx: False], ids=["flag", "function"])
@pytest.mark.parametrize("gate", [True, False])
def test_what_is_carried_out_is_accepted(confirm, gate, tmp_path):
    everything = ToolPolicy(
        confirm=confirm,
        idempotent=True,
        read_only=True,
        reconcile=lambda _arguments, _key: None,
        did_not_happen=(ConnectionError,),
        tags=("money",),
    )

    DurableTools(
        tmp_path / "runs.db",
        policies={"charge": everything},
        gate=gate,
        types=(int,),
        mends=Mends(hold=False),
        checkpoint_key=[b"0123456789abcdef"],
    )

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("policies", "said"),
    [
        ({"charge": {"idempotent": True}}, r"policies\['charge'\] is a ToolPolicy, not dict"),
        ([ToolPolicy()], "policies is a mapping of tool names to policies, not list"),
    ],
)
def test_policies_are_policies_by_name(policies, said, tmp_path):
    with pytest.raises(ConfigError, match=said):
        DurableTools(tmp_path / "runs.db", policies=policies)


@pytest.mark.parametrize(
    ("setting", "value", "ways_out"),
    [("on_error", "ask", "answer, raise"), ("on_busy", "wait", "conflict, ask")],
)
def test_another_word_is_refused_with_the_words_there_are(setting, value, ways_out, tmp_path):
    with pytest.raises(ConfigError, match=f"{setting} is one of {ways_out}, not {value!r}"):
        DurableTools(tmp_path / "runs.db", **{setting: value})


@pytest.mark.parametrize("value", [-1, math.nan, math.inf, True, "5", None])
def test_a_wait_is_a_number_of_seconds(value, tmp_path):
    with pytest.raises(ConfigError, match="claim_wait_s"):
        DurableTools(tmp_path / "runs.db", claim_wait_s=value)


@pytest.mark.parametrize("value", ["no", 0, None], ids=repr)
@pytest.mark.parametrize("setting", ["trust_annotations", "gate", "allow_unsaved"])
def test_a_switch_is_true_or_false(setting, value, tmp_path):
    with pytest.raises(ConfigError, match=f"{setting} is True or False, not {value!r}"):
        DurableTools(tmp_path / "runs.db", **{setting: value})


def test_mends_are_mends(tmp_path):
    with pytest.raises(ConfigError, match=r"mends is None or Mends\(…\), not False"):
        DurableTools(tmp_path / "runs.db", mends=False)


def test_types_are_classes(tmp_path):
    with pytest.raises(ConfigError, match="types"):
        DurableTools(tmp_path / "runs.db", types=["Price"])


@pytest.mark.parametrize("store", ["", ":memory:", "redis://host/0", 5, object()], ids=repr)
def test_what_is_no_store_is_refused(store):
    with pytest.raises(ConfigError):
        DurableTools(store)
