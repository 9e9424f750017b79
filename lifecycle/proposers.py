"""The agents and people of the config are the only ones who may propose."""

from __future__ import annotations

from lifecycle.answers import Sender
from lifecycle.errors import Fault, Refused
from lifecycle.moment import Moment
from lifecycle.policy import Agent, Person, Policy
from lifecycle.proposal import ActorKind, Identity


def configured(policy: Policy, actor: Identity | None) -> Agent | Person | None:
    """Return the agent or person of an identity, None if the config has none."""
    if actor is None:
        return None
    match actor.kind:
        case ActorKind.AGENT:
            return policy.agents.get(actor.id)
        case ActorKind.PERSON:
            return policy.people.get(actor.id)
        case _:
            return None


def proposer_of(sender: Sender, moment: Moment) -> Agent | Person:
    """Return the configured agent or person who speaks; raises Refused unknown_agent."""
    found = configured(moment.policy, sender.identity)
    if found is None or not sender.is_known_to(moment.policy):
        raise Refused(
            [
                Fault(
                    "unknown_agent",
                    suggestion="This account is no configured agent or person; ask an operator to "
                    "add it under agents or people in the config.",
                )
            ]
        )
    return found
