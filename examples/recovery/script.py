"""What the user and the scripted models of both agents say."""

from typing import Any

REQUEST = "Book seat 7A for Ada, take 500 cents, and tell her."
# The calls of the one turn, each with an id.
WISHES: list[dict[str, Any]] = [
    {"id": "call-1", "name": "charge", "args": {"customer": "Ada", "cents": 500}},
    {"id": "call-2", "name": "mail", "args": {"to": "Ada", "text": "See you in seat 7A."}},
    {"id": "call-3", "name": "book", "args": {"seat": "7A"}},
]
LAST_WORDS = "Ada has paid and sits in 7A."
