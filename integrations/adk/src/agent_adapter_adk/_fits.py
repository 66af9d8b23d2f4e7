"""Whether a tool accepts arguments that a person wrote, by the schema that the model is shown."""

from typing import Any

import jsonschema
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.base_tool import BaseTool


def accepts(tool: BaseTool, arguments: dict[str, Any]) -> bool:
    """Whether the arguments fit; an unknown name does not, since most tools would drop it without a word."""
    request = LlmRequest()
    request.append_tools([tool])
    declared = [
        declaration
        for each in request.config.tools or []
        for declaration in getattr(each, "function_declarations", None) or []
    ]
    if not declared:
        return False
    schema = declared[0].parameters_json_schema
    if schema is None:
        if declared[0].parameters is None:
            return not arguments
        schema = declared[0].parameters.json_schema.model_dump(
            mode="json", by_alias=True, exclude_none=True
        )
    if hasattr(schema, "model_json_schema"):
        schema = schema.model_json_schema()
    known = schema.get("properties")
    if known is not None and not arguments.keys() <= known.keys():
        return False
    try:
        jsonschema.validate(arguments, schema)
    except jsonschema.ValidationError:
        return False
    return True
