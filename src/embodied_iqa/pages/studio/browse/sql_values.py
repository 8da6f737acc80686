"""Values inside of SQL texts.

DuckDB's Python package imports pandas, where it is installed, as soon as a query has a parameter: one second
and 56 MB for the first filtered page. Values are therefore written into the text, as hexadecimal digits.
"""

from __future__ import annotations

from collections.abc import Sequence


def with_values(sql: str, values: Sequence[object]) -> str:
    """Return SQL with its question marks replaced by values, in order.

    Args:
        sql: Contains a question mark for each value and no other one.
        values: Text, numbers, or lists of them.
    """
    first, *rest = sql.split("?")
    return first + "".join(_literal(value) + part for value, part in zip(values, rest, strict=True))


def _literal(value: object) -> str:
    match value:
        case bool() | int():
            return repr(value)
        case float():
            return f"CAST('{value!r}' AS DOUBLE)"
        case str():
            return f"decode(from_hex('{value.encode('utf-8', 'replace').hex()}'))"
        case list() | tuple():
            return f"[{', '.join(map(_literal, value))}]"
    raise TypeError(f"no SQL for {type(value).__name__}")
