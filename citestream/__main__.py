"""Runs the command line as `python -m citestream`; it knows no command.

The command line is loaded here and not at import, so that what is missing is
said in a sentence and not in a traceback.
"""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line, or say which extra it needs."""
    try:
        from citestream.cli import cli  # noqa: PLC0415 - click is an extra
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        sys.exit("citestream: the command line needs click: pip install 'citestream[cli]'")
    cli(prog_name="citestream")


if __name__ == "__main__":
    main()
