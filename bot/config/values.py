"""Define the kinds of single values in a config; each refuses with a sentence that says what to
write.

No such sentence repeats the value, since a value in the wrong place may be a secret.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Final
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

_IDENTIFIER: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_ENV_NAME: Final = re.compile(r"[A-Z_][A-Z0-9_]{0,99}")
#: The bare address of a sender, without a name; `localhost` is a domain, too.
_MAIL_ADDRESS: Final = re.compile(
    r"(?=[^@]{1,64}@.{1,253}\Z)"
    r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
    r"@[^\W_](?:[\w-]*[^\W_])?(?:\.[^\W_](?:[\w-]*[^\W_])?)*"
)
#: An empty host would mean every network of the machine.
_HOST: Final = re.compile(r"[^\s/@]+")
#: No sign that a server reads as a pattern, or that begins what it cuts off.
_PATH: Final = re.compile(r"/[A-Za-z0-9._~/-]*")
_CLASS_PATH: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_AWS_KEY: Final = re.compile(r"(?:AKIA|ASIA)[0-9A-Z]{16}")
_DAY_S: Final = 86_400
_SLACK: Final = {
    "team": re.compile(r"[TE][A-Z0-9]+"),
    "user": re.compile(r"[UW][A-Z0-9]+"),
    "usergroup": re.compile(r"S[A-Z0-9]+"),
    "channel": re.compile(r"[CG][A-Z0-9]+"),
}


def identifier(text: str) -> str:
    """Return `text` if it can be an id. Raises ValueError."""
    if not _IDENTIFIER.fullmatch(text):
        raise ValueError("an id is 1 to 64 of A-Z a-z 0-9 . _ -")
    if not text.strip("."):
        raise ValueError("dots alone are no id (ADR 0017); write a letter or a digit as well")
    return text


def _label(text: str) -> str:
    if not text or text != text.strip() or not text.isprintable():
        raise ValueError("write it in one line, with nothing invisible and no blanks around it")
    return text


def _env_name(text: str) -> str:
    if not _ENV_NAME.fullmatch(text) or _AWS_KEY.fullmatch(text):
        raise ValueError(
            "here stands the name of an environment variable in capitals (like SIGNOFF_TOKEN), "
            "never the secret itself"
        )
    return text


def _discord_id(text: str) -> str:
    if not (text.isascii() and text.isdigit() and len(text) <= 20) or text.startswith("0"):
        raise ValueError(
            'a Discord id is digits only, in quotes, like "1001", without a 0 in front: no name, '
            "no mention (Developer Mode copies ids)"
        )
    return text


def _slack(what: str, example: str) -> AfterValidator:
    def check(text: str) -> str:
        if not _SLACK[what].fullmatch(text):
            raise ValueError(f"a Slack {what} is its id, like {example}, never a name or a mention")
        return text

    return AfterValidator(check)


def _url(schemes: tuple[str, ...]) -> AfterValidator:
    wanted = " or ".join(f"{scheme}://" for scheme in schemes)

    def check(text: str) -> str:
        parts = _split(text)
        if parts is None or parts.scheme not in schemes or not parts.hostname:
            raise ValueError(f"a URL that begins with {wanted} and names a host is needed")
        if parts.username is not None or parts.password is not None:
            raise ValueError("a URL holds no user and no password; name them by *_env keys")
        if not _may_be_called(parts.hostname):
            raise ValueError("the host of this URL is no name that there can be (IDNA 2008)")
        return text

    return AfterValidator(check)


def _may_be_called(host: str) -> bool:
    """Return whether a host can be a name, as httpx reads it; it raises for any other."""
    if host.isascii() and not host.startswith("xn--"):
        return True
    import idna  # most configs never need it

    try:
        idna.decode(host if host.isascii() else idna.encode(host.lower()).decode("ascii"))
    except idna.IDNAError:
        return False
    return True


def _split(text: str) -> SplitResult | None:
    try:
        parts = urlsplit(text)
        _ = parts.port  # a port that is no number is found out here
    except ValueError:
        return None
    return None if re.search(r"[\s\x00-\x1f\x7f]", text) else parts


def _host(text: str) -> str:
    if not _HOST.fullmatch(text):
        raise ValueError("here stands the name or address of one host, like 127.0.0.1")
    return text


def _path(text: str) -> str:
    if not _PATH.fullmatch(text):
        raise ValueError(
            "a path that begins with / is needed, like /slack/events, of letters, digits, . _ ~ -"
        )
    return text


def _mail_address(text: str) -> str:
    if not _MAIL_ADDRESS.fullmatch(text):
        raise ValueError("a mail address alone is needed, like agents@shop.example")
    return text


def _class_path(text: str) -> str:
    if not _CLASS_PATH.fullmatch(text):
        raise ValueError("write module:Class, like our_tools.crm:UpdateContact")
    return text


def _switch(value: Any) -> Any:
    if value == "auto" or isinstance(value, bool):
        return {True: "on", False: "off", "auto": "auto"}[value]
    raise ValueError("write auto, true or false")


def _argv(words: list[str]) -> list[str]:
    if not words or not words[0] or any("\0" in word for word in words):
        raise ValueError(
            'a command is a list of words, like ["python3", "examples/tools/search.py"]'
        )
    return words


def _within_a_day(seconds: int) -> int:
    if seconds > _DAY_S:
        raise ValueError(
            f"calls are remembered for a day: write at most {_DAY_S} (seconds), or ask for people"
        )
    return seconds


def _unique(words: list[str]) -> list[str]:
    if len(set(words)) != len(words):
        raise ValueError("an entry stands here twice; keep one of them")
    return words


Identifier = Annotated[str, AfterValidator(identifier)]
Label = Annotated[str, AfterValidator(_label)]
EnvName = Annotated[str, AfterValidator(_env_name)]
DiscordId = Annotated[str, AfterValidator(_discord_id)]
SlackTeam = Annotated[str, _slack("team", "T024BE7LH")]
SlackUser = Annotated[str, _slack("user", "U024BE7LJ or W012A3CDE")]
SlackUsergroup = Annotated[str, _slack("usergroup", "S0615G0KT")]
SlackChannel = Annotated[str, _slack("channel", "C024BE91L")]
HttpUrl = Annotated[str, _url(("http", "https"))]
GatewayUrl = Annotated[str, _url(("ws", "wss"))]
Host = Annotated[str, AfterValidator(_host)]
ClassPath = Annotated[str, AfterValidator(_class_path)]
UrlPath = Annotated[str, AfterValidator(_path)]
MailAddress = Annotated[str, AfterValidator(_mail_address)]
Switch = Annotated[str, BeforeValidator(_switch)]
Argv = Annotated[list[str], AfterValidator(_argv)]
Names = Annotated[list[Identifier], AfterValidator(_unique)]
EnvNames = Annotated[list[EnvName], AfterValidator(_unique)]
Port = Annotated[int, Field(ge=1, le=65535)]
Seconds = Annotated[int, Field(ge=1, le=10**9)]
SecondsOfADay = Annotated[int, Field(ge=1), AfterValidator(_within_a_day)]
Count = Annotated[int, Field(ge=1, le=10**9)]
