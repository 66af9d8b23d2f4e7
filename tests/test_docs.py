"""The documents say what the code does, where a table of theirs can be held against it; and their links lead somewhere."""

import dataclasses
import hashlib
import hmac
import json
import re
from pathlib import Path

import pytest

# Private: a stored format is read by others, so its page has to name exactly what these write.
from agent_adapter._sealing import KeyRing
from agent_adapter.exec._entries import CallId, Entry, idempotency_key, to_record
from agent_adapter.exec._questions import CAUSES

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("integrations/*/README.md")]

KEY = b"a key of at least sixteen bytes"
CALL = CallId("run", "listed", "key", "call-1", "charge", "digest", "scope")
ENTRY = Entry("started", "call-1", "digest", "scope", "seed", "nonce", "owner")


def first_column(page: str, header: str) -> list[str]:
    """The names in the first column of the table under this header line."""
    _, found, table = (ROOT / page).read_text().partition(f"{header}\n|---|---|\n")
    assert found
    cells = [line.split("|")[1] for line in table.partition("\n\n")[0].splitlines()]
    return [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]


def test_the_page_names_every_field_of_a_record():
    fields = {field.name for field in dataclasses.fields(Entry)} - {"state"}
    named = first_column("docs/stored-format.md", "| field | holds |")
    assert (sorted(named), len(named)) == (sorted({"v", *fields}), len(set(named)))


def test_the_page_names_every_cause_of_a_question_in_its_own_words():
    page = (ROOT / "docs/durable-runs.md").read_text()
    assert first_column("docs/durable-runs.md", "| cause | the question |") == list(CAUSES)
    assert [text for text in CAUSES.values() if f"| {text} |" not in page] == []


def test_a_document_is_sealed_as_the_page_says():
    record = to_record(KeyRing(KEY), CALL, 7, ENTRY)
    version, key_id, mac, body = str(record.document).split(".", 3)
    place = {"kind": "call", "run_id": "run", "segment": 7, "key": "key", "tool": "charge"}
    binding = json.dumps({**place, "state": "started"}, sort_keys=True, separators=(",", ":"))
    text = f"agent_adapter seal v1\n{binding}\n{body}".encode()
    name = hmac.digest(KEY, b"agent_adapter key id v1\n", "sha256").hex()[:12]
    assert (version, key_id, mac) == ("v1", name, hmac.digest(KEY, text, "sha256").hex())
    stored = {"v": 1, **dataclasses.asdict(ENTRY)}
    del stored["state"]
    assert json.loads(body) == stored


def test_the_idempotency_key_is_made_as_the_page_says():
    text = "\x1f".join(("run", "key", "digest", "seed"))
    assert idempotency_key(CALL, "seed") == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_to_a_file(page):
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []
