"""numlift.device: where compiled functions run."""

from . import _core, cuda

KNOWN = ("cpu", "cuda")


class device:
    """Context manager: compiled functions that are called in the block, on this thread, run on the device.

    with nl.device("cuda"):
        z = f(x, y)

    Their arrays are copied to the device and the results back; a function has code of its own for each
    device. device("cuda") raises RuntimeError at the start of the block where there is no GPU.
    """

    def __init__(self, name):
        if not isinstance(name, str):
            raise TypeError(f"a device is named by a str, not {type(name).__name__}")
        if name not in KNOWN:
            known = ", ".join(repr(one) for one in KNOWN)
            raise ValueError(f"unknown device {name!r}; the devices are {known}")
        self.type = name
        self._before = []

    def __enter__(self):
        if self.type == "cuda" and (missing := cuda.missing()):
            raise RuntimeError(missing)
        self._before.append(_core.begin_device_block(self.type == "cuda"))
        return self

    def __exit__(self, *exception):
        _core.end_device_block(self._before.pop())

    def __repr__(self):
        return f"device({self.type!r})"
