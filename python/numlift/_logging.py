"""Where numlift's log goes: loggers `numlift.<channel>` when `logging` is set up, else stderr."""

import sys


def write(channel, text):
    import logging

    name = f"numlift.{channel}" if channel else "numlift"
    logger = logging.getLogger(name)
    level = logging.INFO if channel else logging.WARNING
    if logger.hasHandlers():
        logger.log(level, "%s", text)
    else:
        print(f"{name}: {text}", file=sys.stderr)
