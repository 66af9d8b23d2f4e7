"""What every store on a SQLite file is built on: one writer per file, readers, the schema, the key file."""

from agent_adapter._sqlite._database import Database, database_for
from agent_adapter._sqlite._key_file import settled_key
from agent_adapter._sqlite._pack import LARGEST_TEXT_BYTES, pack, unpack
from agent_adapter._sqlite._settings import checked_path, checked_timeout

__all__ = [
    "LARGEST_TEXT_BYTES",
    "Database",
    "checked_path",
    "checked_timeout",
    "database_for",
    "pack",
    "settled_key",
    "unpack",
]
