"""All commands, each from a module of its name."""

from importlib import import_module

from cyclopts import App

from anabranch import version
from anabranch.cli.overview import COMMANDS, INSTALL_COMPLETION, PURPOSE

_REQUEST = "__complete"
"""With this word the shell's script asks for the words that complete a line; it ignores errors."""


def app(arguments: list[str]) -> App:
    """The command line for these arguments. It has only the command that the arguments begin with, since importing all takes longer; otherwise all commands."""
    line = App(
        name="anabranch",
        help=PURPOSE,
        help_format="plaintext",  # the interpreter of Markdown takes long to import, and our texts have none
        version=version,
        result_action="return_value",
    )
    first = arguments[1:2] if arguments[:1] == [_REQUEST] else arguments[:1]
    for name in first if first and first[0] in COMMANDS else COMMANDS:
        module = name.replace("-", "_")
        line.command(getattr(import_module(f"anabranch.cli.{module}"), module))
    if arguments[:1] == [INSTALL_COMPLETION]:
        line.register_install_completion_command()
    return line
