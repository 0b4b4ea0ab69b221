"""Work in forked children, so that a crash or a hang of one piece is found out and named.

The parent must not have compiled anything: threads do not survive a fork.
"""

import json
import os
import select
import signal
import sys
import time
import traceback


class Child:
    """Does work(item) for each item in turn and reports each result."""

    def __init__(self, work, items):
        self.items, self.results = items, []
        self.reader, writer = os.pipe()
        self.last = time.monotonic()
        self.left = b""
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.reader)
            code = 1
            try:
                # The output of crashing programs is of no use.
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, 2)
                for item in items:
                    os.write(writer, json.dumps(work(item)).encode() + b"\n")
                code = 0
            except BaseException:
                os.write(
                    writer, json.dumps({"kind": "broken", "text": traceback.format_exc()}).encode() + b"\n"
                )
            os._exit(code)
        os.close(writer)

    def read(self):
        """New results, and whether the child has ended."""
        data = os.read(self.reader, 1 << 16)
        *lines, self.left = (self.left + data).split(b"\n")
        fresh = [json.loads(line) for line in lines]
        if fresh:
            self.last = time.monotonic()
        self.results += fresh
        return not data

    def end(self, kill=False):
        if kill:
            os.kill(self.pid, signal.SIGKILL)
        os.close(self.reader)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def run(work, items, jobs=1, chunk=50, limit=20):
    """Yields (item, result) of each item; a crash or hang is a result of its own."""
    waiting = [items[i : i + chunk] for i in range(0, len(items), chunk)][::-1]
    running = []
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                running.append(Child(work, waiting.pop()))
            ready, _, _ = select.select([c.reader for c in running], [], [], 0.5)
            for child in list(running):
                before = len(child.results)
                ended = child.reader in ready and child.read()
                late = not ended and time.monotonic() - child.last > limit
                yield from zip(child.items[before:], child.results[before:])
                if not ended and not late:
                    continue
                running.remove(child)
                code = child.end(kill=late)
                done = len(child.results)
                if done < len(child.items) or code:
                    if done < len(child.items) and code:
                        text = f"no result in {limit} s" if late else f"the process ended with {code}"
                        yield child.items[done], {
                            "kind": "hang" if late else "crash",
                            "text": text,
                            "like": [text],
                        }
                        done += 1
                    if child.items[done:]:
                        waiting.append(child.items[done:])
    finally:
        for child in running:
            child.end(kill=True)
