"""Find secrets that two hold and must not: an agent must not be given a secret of the bot's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bot.config.load import Config


def known_to_agents(config: Config, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each agent or source with a secret of the bot's own, by its name or its
    value.

    With the secret of Slack's events somebody can forge approvals, with the bot's token its cards.
    """
    own = dict(_own(config))
    for name, given in _given(config):
        value = environment.get(given, "").strip()
        for named, what in own.items():
            if named == given or (value and environment.get(named, "").strip() == value):
                same = "" if named == given else f", and {named} holds the same"
                yield f"{name} is given what {what}: {given}{same}. Give it a secret of its own."


def _given(config: Config) -> Iterator[tuple[str, str]]:
    """Yield each agent or source with a variable whose value it is given."""
    for source in config.policy.sources.values():
        if source.token_env:
            yield source.id, source.token_env
    for agent in config.policy.agents.values():
        yield from (
            (agent.id, name) for name in (agent.token_env, agent.callback_secret_env) if name
        )


def _own(config: Config) -> Iterator[tuple[str, str]]:
    """Yield the variables whose values belong to the bot alone, with what each of them does."""
    discord, slack = config.chat.discord, config.chat.slack
    if config.permit_secret_env:
        yield config.permit_secret_env, "signs permits"
    if discord:
        yield discord.token_env, "speaks for the bot on Discord"
    if slack:
        yield slack.bot_token_env, "speaks for the bot on Slack"
        if slack.app_token_env:
            yield slack.app_token_env, "hears Slack's events"
        if slack.signing_secret_env:
            yield slack.signing_secret_env, "signs Slack's events"
