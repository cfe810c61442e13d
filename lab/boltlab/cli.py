# SPDX-License-Identifier: GPL-2.0-only
"""The command line's root: finds the subcommand's module and runs it."""

import argparse
import importlib
import io
import math
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn, Protocol, cast

from boltlab import arch, codec, errors, paths, versions
from boltlab.errors import BoltError
from boltlab.versions import Version

PICTURES = (".svg", ".png", ".pdf")  # kinds of pictures that a command may write

COMMANDS = (
    "demo",
    "test",
    "lint",
    "doctor",
    "kernel",
    "run",
    "bench",
    "boot-bench",
    "bystanders",
    "alternatives",
    "vm-demo",
    "torture",
    "report",
    "shell",
    "deb",
    "release-check",
)


class Command(Protocol):
    """What a module of boltlab.commands offers."""

    NAME: str
    HELP: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the command's own arguments."""

    def run(self, args: argparse.Namespace) -> int:
        """Do the work; return the exit status or raise BoltError."""


def load(name: str) -> Command:
    """Import and return the module of the command ``name``, one of COMMANDS."""
    return cast(Command, importlib.import_module(f"boltlab.commands.{name.replace('-', '_')}"))


def add_arch(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--arch``; commands pass its value to arch.select()."""
    parser.add_argument(
        "--arch", choices=arch.CHOICES, help="architecture of the kernels (default: the host's)"
    )


def add_one_arch(parser: argparse.ArgumentParser) -> None:
    """Add ``--arch`` for a command that works on one architecture only."""
    parser.add_argument(
        "--arch", choices=tuple(arch.ARCHES), help="architecture (default: the host's)"
    )


def add_source(parser: argparse.ArgumentParser) -> None:
    """Add ``--source`` and ``--version``: either sets args.source, for source.resolve()."""
    either = parser.add_mutually_exclusive_group()
    either.add_argument(
        "--source",
        type=Path,
        metavar="DIR|TARBALL",
        help=f"kernel source, any {' or '.join(f'{each.series}.y' for each in versions.load())}",
    )
    add_version(either, dest="source")


def add_version(
    parser: argparse._ActionsContainer,
    dest: str = "version",
    default: Version | None = None,
    said: str = "",
) -> None:
    """Add ``--version``: args.DEST is the series that was named, or ``default``.

    ``said`` is what the help says of a call without ``--version``, if such a call does not take the
    default series.
    """
    known = versions.load()
    otherwise = said or f"default: {known[0].package}"
    parser.add_argument(
        "--version",
        dest=dest,
        type=versions.named,
        default=default,
        metavar="|".join(each.series for each in known),
        help=f"Debian's source of that series ({otherwise})",
    )


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """Add ``--jobs``, an int: how many jobs make runs at once."""
    parser.add_argument(
        "--jobs",
        type=positive,
        default=arch.cores(),
        metavar="N",
        help="how many jobs make may run at once",
    )


def positive(text: str) -> int:
    """Return the whole number above 0 in ``text``, or have argparse refuse ``text``."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number above 0")
    return value


def above_zero(text: str) -> float:
    """Return the number above 0, whole or not, in ``text``, or have argparse refuse ``text``."""
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number above 0")
    return value


def output(text: str) -> Path:
    """Return the path in ``text``, or have argparse refuse a path that cannot be written.

    A command that measures for an hour finds out before that time that its results cannot be
    written.
    """
    path = Path(text)
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{path} is a directory")
    device = codec.is_device(path)
    folder = path.parent if device else path.resolve().parent
    if not folder.is_dir():
        raise argparse.ArgumentTypeError(f"no directory {folder}")
    # codec.save() makes a new file in the folder, and renames the new file; a device is written to.
    written = (path,) if device else (folder, path)
    if not all(os.access(each, os.W_OK) for each in written if each.exists()):
        raise argparse.ArgumentTypeError(f"cannot write {path}")
    return path


def beside(path: Path, part: str) -> Path:
    """Return the path of one of several files, whose name is that of ``path`` with ``part`` added.

    Raises BoltError if the file cannot be written, or if ``path`` is a device.
    """
    if codec.is_device(path):
        raise BoltError(f"{path} is a device, and cannot take several files", code=errors.USAGE)
    try:
        return output(str(path.with_name(f"{path.stem}-{part}{path.suffix}")))
    except argparse.ArgumentTypeError as error:
        raise BoltError(str(error), code=errors.USAGE) from error


def picture(text: str, kinds: Sequence[str] = PICTURES) -> Path:
    """Return the path of a picture to write, or have argparse refuse ``text``.

    ``text`` is refused as by output(), and also if the name does not end in one of ``kinds``. The
    end of the name says which kind of picture is wanted.
    """
    path = output(text)
    if path.suffix not in kinds:
        raise argparse.ArgumentTypeError(f"'{text}' ends in none of {', '.join(kinds)}")
    return path


def numbers(text: str) -> tuple[int, ...]:
    """Return the whole numbers in ``text``, divided by commas, or have argparse refuse ``text``."""
    try:
        return tuple(int(word) for word in text.split(","))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"'{text}' is no list of numbers") from error


def names(text: str) -> tuple[str, ...]:
    """Return the words in ``text``, divided by commas, each once; have argparse refuse no words."""
    found = dict.fromkeys(word for word in text.split(",") if word)
    if not found:
        raise argparse.ArgumentTypeError(f"'{text}' names nothing")
    return tuple(found)


def help_text() -> str:
    """Return the text of ``./bolt --help``; the shell script ``bolt`` prints the same file."""
    lines = (paths.DATA / "help.txt").read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("#")).strip() + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line ``argv`` (without the program's name); return the exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or words[0] in ("-h", "--help", "help"):
        sys.stdout.write(help_text())
        return 0 if words else errors.USAGE
    if words[0] not in COMMANDS:
        what = "option" if words[0].startswith("-") else "command"
        _fail(f"unknown {what} '{words[0]}' (see ./bolt --help)")
        return errors.USAGE
    handle_ends(_ended)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal may lack characters of files' names
    try:
        return _run(words[0], words[1:])
    except BoltError as error:
        _fail(str(error))
        return error.code
    except KeyboardInterrupt:
        _fail("interrupted; the next call uses what is built already")
        return errors.INTERRUPTED
    except BrokenPipeError:
        # The program that reads the lab's output has ended before the lab, as head and less may.
        # The lab prints no message then, and the exit status says that the output is not complete.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return errors.FAILURE
    except OSError as error:  # e.g. the disk is full, or files in the cache belong to another user
        where = f"{error.filename}: " if error.filename else ""
        _fail(f"{where}{error.strerror or error}")
        return errors.FAILURE


def handle_ends(handler: Callable[[int, FrameType | None], object]) -> None:
    """Have ``handler`` called for SIGTERM and SIGHUP.

    A signal that the lab's caller has had ignored, as nohup does with SIGHUP, stays ignored.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _run(name: str, words: Sequence[str]) -> int:
    command = load(name)
    parser = _Parser(prog=f"bolt {name}", description=command.HELP, allow_abbrev=False)
    command.add_arguments(parser)
    return command.run(parser.parse_args(words))


def _ended(number: int, _frame: object) -> NoReturn:
    # SIGTERM and SIGHUP become an exception, so that the lab ends its children and removes
    # half-made files.
    raise SystemExit(128 + number)


class _Parser(argparse.ArgumentParser):
    """Answers a usage error with one line instead of the whole usage."""

    def error(self, message: str) -> NoReturn:
        _fail(f"{message} (see ./{self.prog} --help)")
        sys.exit(errors.USAGE)


def _fail(text: str) -> None:
    sys.stderr.write(f"bolt: {text}\n")
