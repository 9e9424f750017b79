"""Tells which secrets a config hands to a tool by variables of the environment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from lifecycle.text.secrets_found import secret_named

#: A shorter value is a word that a receipt may hold for another reason.
_SHORTEST: Final = 8


def secrets_in_env(names: Iterable[str], environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of those variables whose name says that they are secret, as `CRM_TOKEN`.

    Others may be addresses and folders, of which a receipt speaks. A tool takes off the line break
    with which many values end, and of `Bearer abc.def` it may repeat the second word alone.
    """
    values = [environment.get(name, "").strip() for name in names if secret_named(name)]
    lines = [each for each in values if len(each.splitlines()) == 1]  # a key has lines of words
    words = [word for each in lines for word in each.split() if not word.isalpha()]
    return tuple({each for each in (*values, *words) if len(each) >= _SHORTEST})
