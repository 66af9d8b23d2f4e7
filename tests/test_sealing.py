"""Sealed documents: only an unchanged one, in its own place, under a key of the ring, is ever read."""

import hashlib
import hmac
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_adapter import _sealing
from agent_adapter._sealing import KeyRing, seal, unseal
from agent_adapter.errors import CheckpointStoreCorrupt, ConfigError, NotSealable, ToolUsageError

VECTORS = Path(__file__).parent / "vectors" / "sealing"
KEY = "0123456789abcdef0123456789abcdef"
BINDING = {"run_id": "run-1", "segment": 7, "key": "charge:ab:0"}
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=10,
)


def vectors(name: str) -> Any:
    cases = json.loads((VECTORS / f"{name}.json").read_text())
    return pytest.mark.parametrize("case", cases, ids=[case["name"] for case in cases])


@vectors("generate")
def test_a_document_is_the_same_in_every_release(case: dict[str, Any]) -> None:
    assert seal(KeyRing(case["keys"]), case["value"], case["binding"]) == case["document"]


@vectors("generate")
def test_what_was_sealed_is_unsealed(case: dict[str, Any]) -> None:
    value = unseal(KeyRing(case["keys"]), case["document"], case["binding"])
    assert repr(value) == repr(case["value"])


@vectors("verify")
def test_documents_of_the_past_are_still_read(case: dict[str, Any]) -> None:
    assert unseal(KeyRing(case["keys"]), case["document"], case["binding"]) == case["value"]


@vectors("invalid")
def test_a_document_that_is_not_whole_is_refused_and_not_read(
    case: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Item 100: one error, which says what is wrong, before the body is parsed."""
    monkeypatch.setattr(_sealing.json, "loads", lambda _: pytest.fail("the body was read"))
    with pytest.raises(CheckpointStoreCorrupt, match=case["reason"]) as caught:
        unseal(KeyRing(case["keys"]), case["document"], case["binding"])
    assert caught.value.run_id == case["binding"].get("run_id", "")


@settings(deadline=None)
@given(st.data())
def test_no_changed_character_goes_unnoticed(data: st.DataObject) -> None:
    """Item 100."""
    document = seal(KeyRing(KEY), {"status": "running", "step": 3}, BINDING)
    place = data.draw(st.integers(0, len(document) - 1))
    character = data.draw(st.characters().filter(lambda drawn: drawn != document[place]))
    changed = document[:place] + character + document[place + 1 :]
    for damaged in (changed, document[:place], document[:place] + document[place + 1 :]):
        with pytest.raises(CheckpointStoreCorrupt):
            unseal(KeyRing(KEY), damaged, BINDING)


@settings(deadline=None)
@given(JSON, st.dictionaries(st.text(max_size=5), st.text() | st.integers(), max_size=4))
def test_any_plain_json_comes_back_in_its_order(value: Any, binding: dict[str, Any]) -> None:
    document = seal(KeyRing(KEY), value, binding)
    assert document.isascii()
    assert repr(unseal(KeyRing(KEY), document, binding)) == repr(value)


def test_the_seal_is_a_plain_hmac_that_others_can_check() -> None:
    document = seal(KeyRing(KEY), {"b": 1, "a": [True]}, {"step": 3, "run_id": "é"})
    _, _, mac, body = document.split(".", 3)
    text = 'agent_adapter seal v1\n{"run_id":"\\u00e9","step":3}\n{"b":1,"a":[true]}'
    assert body == '{"b":1,"a":[true]}'
    assert mac == hmac.new(KEY.encode(), text.encode(), hashlib.sha256).hexdigest()


def test_keys_are_rotated_by_putting_the_new_one_first() -> None:
    """Item 101."""
    old, new = "the old key, 16 bytes", b"the new key, 16 bytes"
    before = seal(KeyRing(old), [1], BINDING)
    both = KeyRing([new, old])
    after = seal(both, [2], BINDING)

    assert [unseal(both, document, BINDING) for document in (before, after)] == [[1], [2]]
    assert unseal(KeyRing(new), after, BINDING) == [2]
    with pytest.raises(CheckpointStoreCorrupt) as caught:
        unseal(KeyRing(new), before, BINDING)
    assert caught.value.reason == (
        f"a document is sealed under the key {KeyRing(old).key_id}, and the keys given are {KeyRing(new).key_id}: "
        "add its key to checkpoint_key, behind the one that signs"
    )


@pytest.mark.parametrize(
    "keys",
    [
        "",
        "x" * 15,
        b"",
        b"x" * 15,
        [],
        (),
        None,
        5,
        {KEY},
        [KEY, "short"],
        [None],
        [5],
        bytearray(32),
        "\ud800" * 16,
    ],
    ids=repr,
)
def test_a_key_that_is_none_or_too_short_is_refused(keys: Any) -> None:
    with pytest.raises(ConfigError, match="checkpoint_key"):
        KeyRing(keys)


def test_a_key_is_shown_nowhere() -> None:
    ring = KeyRing([KEY, "the old key, 16 bytes"])
    with pytest.raises(CheckpointStoreCorrupt) as caught:
        unseal(ring, seal(KeyRing("another key of 16 bytes"), 1, {}), {})
    for shown in (repr(ring), str(ring), ring.key_id, str(caught.value), seal(ring, 1, {})):
        assert KEY not in shown
        assert "the old key" not in shown
    with pytest.raises(ConfigError) as refused:
        KeyRing("secret")
    assert "secret" not in str(refused.value).replace("secrets.token_hex", "")


def test_text_and_bytes_of_one_key_are_one_key() -> None:
    assert KeyRing(KEY).key_id == KeyRing(KEY.encode()).key_id == KeyRing([KEY]).key_id


@pytest.mark.parametrize("value", [(1,), {1: 2}, math.nan, b"x", {"a": {1}}], ids=repr)
def test_only_plain_json_is_sealed(value: Any) -> None:
    with pytest.raises(NotSealable):
        seal(KeyRing(KEY), value, {})


@pytest.mark.parametrize(
    "binding", [{"step": True}, {"step": 1.0}, {"step": None}, {1: "x"}], ids=repr
)
def test_a_binding_is_text_and_integers(binding: Any) -> None:
    document = seal(KeyRing(KEY), 1, {})
    with pytest.raises(ToolUsageError, match="a binding maps text to text or integers"):
        seal(KeyRing(KEY), 1, binding)
    with pytest.raises(ToolUsageError, match="a binding maps text to text or integers"):
        unseal(KeyRing(KEY), document, binding)
