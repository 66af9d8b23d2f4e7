"""The canonical encoding: values to typed, exact, plain JSON and back, its one text, and its digest. Pure."""

from agent_adapter._canonical._decode import Decoder, decode
from agent_adapter._canonical._encode import Encoder, encode
from agent_adapter._canonical._plain import canonical, check_plain, digest, ordered
from agent_adapter._canonical._reachable import reachable_types

__all__ = [
    "Decoder",
    "Encoder",
    "canonical",
    "check_plain",
    "decode",
    "digest",
    "encode",
    "ordered",
    "reachable_types",
]
