"""This module reads the words of a reason, also those that begin with a dash."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from typer.core import TyperCommand

#: After it, every word belongs to the reason.
_WORDS_ALONE: Final = "--"


class ReasonCommand(TyperCommand):
    """A command whose words are a reason, but for its own options.

    `signoff freeze leak -now` is a freeze: none is refused for a dash in its reason, unless that
    reads as one of the options with its value.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take the options out, wherever they stand; each other word belongs to the reason.

        A misspelt option is a word of the reason as well. `-h` shows the help. `ctx` is
        click's context, whose type is another one in each version of typer.
        """
        with_value = {
            name: not getattr(parameter, "is_flag", False)
            for parameter in self.get_params(ctx)
            if parameter.param_type_name == "option"
            for name in parameter.opts
        }
        options, words = _parted(iter(args), with_value)
        return super().parse_args(ctx, [*options, *([_WORDS_ALONE] if words else []), *words])


def _parted(given: Iterator[str], with_value: dict[str, bool]) -> tuple[list[str], list[str]]:
    """Return the options with their values, and all other words in their order.

    An option that lacks its value is returned alone: click, which names it, would take for its
    value whatever comes next.
    """
    options: list[str] = []
    words: list[str] = []
    for word in given:
        if word == _WORDS_ALONE:
            words += given
        elif word in with_value:
            options.append(word)
            if with_value[word]:
                value = next(given, None)
                if value is None:
                    return [word], []
                options.append(value)
        elif _has_value_in_it(word, with_value):
            options.append(word)
        else:
            words.append(word)
    return options, words


def _has_value_in_it(word: str, with_value: dict[str, bool]) -> bool:
    """True for `--config=FILE` and `-cFILE`.

    A file has a dot or a slash in its name here: `-customers` belongs to the reason.
    """
    if word.startswith("--"):
        name, has_value, _ = word.partition("=")
        return bool(has_value) and with_value.get(name, False)
    return with_value.get(word[:2], False) and not {*word[2:]}.isdisjoint("./")
