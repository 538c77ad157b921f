"""Prompt files that are YAML between two lines of dashes, and a template below."""

import json
import re
from collections.abc import Mapping
from typing import Any

__all__ = ["with_frontmatter"]

_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def with_frontmatter(fields: Mapping[str, Any], body: str) -> str:
    """Return the file; every field is a line of JSON, which is YAML too and needs no anchors."""
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in fields.items()]
    head = _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", "".join(lines))
    return f"---\n{head}---\n{body}\n"
