"""Tells which secrets a config hands to a tool by variables of the environment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from lifecycle.text.secrets_found import secret_named

#: A shorter value is a word that a receipt may hold for another reason.
_SHORTEST: Final = 8


def secrets_in_env(names: Iterable[str], environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of those variables whose name says that they are secret, as `CRM_TOKEN`.

    Others may be addresses and folders, of which a receipt speaks.
    """
    values = (environment.get(name, "") for name in names if secret_named(name))
    return tuple({value for value in values if len(value) >= _SHORTEST})
