"""The command `stable-nalu`, and `python3 -m stable_nalu`."""

from .base.script import begin


def program() -> int:
    """Run the process of a command, and return its exit code."""
    begin()
    from .command_line import main

    return main()


if __name__ == "__main__":
    raise SystemExit(program())
