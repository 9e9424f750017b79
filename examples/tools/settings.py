"""Change one setting: data/settings.json."""

from __future__ import annotations

import json

from kit import DATA, Call, Failed, Receipt, once, plain_name, replace, restore, serve, text


@once
def execute(call: Call) -> Receipt:
    """Set `name` to `value` and keep the settings as they were."""
    name = plain_name(text(call, "name"))
    if "value" not in call["parameters"]:
        raise Failed("the parameter value is missing")
    file = DATA / "settings.json"
    settings = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    settings[name] = call["parameters"]["value"]
    content = json.dumps(settings, indent=2, sort_keys=True) + "\n"
    return replace(file, content, call) | {"affected_records": 1, "effects": ["config"]}


def roll_back(call: Call) -> Receipt:
    """Put the settings back as they were."""
    return restore(call["receipt"])


serve({"execute": execute, "roll_back": roll_back})
