"""Finds the secrets that a config hands to a tool by `env`, so that what it says can be masked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from lifecycle.text.secret_names import secret_named

#: A shorter value (in characters) is not masked: a receipt may hold such a word by chance.
_SHORTEST: Final = 8


def secrets_in_env(names: Iterable[str], environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of those variables whose name says that they are secret, as `CRM_TOKEN`.

    Other values may be addresses and folders, which a receipt names. The line break at the end of a
    value is left out, because a tool uses it without. Each word of a value of one line is returned
    as well: of `Bearer abc.def` a tool may repeat the second word alone.
    """
    values = [environment.get(name, "").strip() for name in names if secret_named(name)]
    lines = [each for each in values if len(each.splitlines()) == 1]  # a key has lines of words
    words = [word for each in lines for word in each.split() if not word.isalpha()]
    return tuple({each for each in (*values, *words) if len(each) >= _SHORTEST})
