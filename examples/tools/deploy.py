"""Deploy a version to a site: data/sites/<domain>.json says which version is live."""

from __future__ import annotations

import json

from kit import DATA, Call, Receipt, once, plain_name, replace, restore, serve, text


@once
def execute(call: Call) -> Receipt:
    """Make a version live and keep the one before."""
    domain = plain_name(call["target"]["domain"])
    version = plain_name(text(call, "version"))
    site = DATA / "sites" / f"{domain}.json"
    before = json.loads(site.read_text())["version"] if site.exists() else None
    live = {"domain": domain, "version": version, "proposal_id": call["proposal_id"]}
    return replace(site, json.dumps(live, indent=2) + "\n", call) | {
        "version": version,
        "previous_version": before,
        "affected_records": 1,
        "effects": ["deploy"],
    }


def roll_back(call: Call) -> Receipt:
    """Make the version before live again, to the byte."""
    return restore(call["receipt"])


serve({"execute": execute, "roll_back": roll_back})
