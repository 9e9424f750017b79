"""Holds the parts that exist once the bot serves on Slack: the calls, the channel, and more."""

from __future__ import annotations

from bot.chat.cards.calling import Calling
from bot.chat.hearing.hearing import Hearing
from bot.chat.showing.board_keeping import BoardKeeper
from bot.chat.slack.accounts import SURFACE, Accounts
from bot.chat.slack.board import SlackBoard
from bot.chat.slack.calls import SlackWeb
from bot.chat.slack.checks import Me
from bot.chat.slack.files import Files
from bot.chat.slack.presence import Presence
from bot.chat.slack.rest import Rest
from bot.chat.slack.seeds import Seeds
from bot.chat.slack.settings import SlackSettings
from lifecycle.workflow import Workflow


class Desk:
    """The parts of the surface for one `serve`, over as many connections as that takes."""

    def __init__(self, settings: SlackSettings, workflow: Workflow) -> None:
        world, entry = workflow.world, settings.entry
        self.workflow = workflow
        self.clock = world.clock
        self.web = SlackWeb(entry.api_base, settings.bot_token, world.clock)
        self.rest = Rest(self.web, entry.channel, world.clock)
        self.accounts = Accounts(self.web)
        self.seeds = Seeds(self.rest, world.clock)
        self.files = Files(self.rest, world)
        self.hearing = Hearing(world.clock.now_ms)
        self.presence = Presence(self.web, entry.channel, self.hearing)
        self.calling = Calling(world, SURFACE, settings.usergroups)
        board = SlackBoard(self.rest)
        self.board = BoardKeeper(world, SURFACE, board.place, stands=board.stands)
        self.me: Me | None = None
