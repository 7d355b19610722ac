"""All commands, each from a module of its name."""

from collections.abc import Sequence
from importlib import import_module

from cyclopts import App

from anabranch import version

COMMANDS = (
    "run",
    "check",
    "report",
    "routes",
    "robust",
    "plan",
    "predict",
    "paper",
    "drill",
    "schema",
    "doctor",
    "topology",
)


def app(arguments: Sequence[str]) -> App:
    """The command line for these arguments. It has all commands, or only the one that the arguments begin with: to import all takes longer."""
    line = App(
        name="anabranch",
        help="Finds, predicts and proves the best way to carry TCP over a network.",
        help_format="plaintext",  # the interpreter of Markdown takes long to import, and our texts have none
        version=version,
        result_action="return_value",
    )
    for name in arguments[:1] if arguments[:1] and arguments[0] in COMMANDS else COMMANDS:
        line.command(getattr(import_module(f"anabranch.cli.{name}"), name))
    line.register_install_completion_command(help="Have the shell complete commands and options.")
    return line
