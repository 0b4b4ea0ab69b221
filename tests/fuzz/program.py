"""A program of the fuzzer, by its seed: the text, and the arguments of its calls."""

from .generator import Generator


class Program:
    """source: the text of a module with f in it; calls: descriptions of the arguments of each call, from
    which arguments() makes equal ones as often as wanted."""

    def __init__(self, seed):
        generator = Generator(seed)
        self.seed = seed
        self.source, self.parameters = generator.module()
        rng = generator.rng
        dtypes = {
            "x": generator.float_dtype,
            "X": generator.float_dtype,
            "k": generator.int_dtype,
            "m": "bool",
        }
        self.calls = []
        for number in range(rng.choice((2, 2, 3))):
            side = rng.choice((4, 5, 3, 2, 6)) if number == 0 else rng.choice((0, 1, 2, 3, 4, 5, 7))
            call = []
            other = rng.choice((1, side + 1)) if rng.random() < 0.05 else side
            for name, kind in self.parameters:
                if kind in dtypes:
                    shape = (side,) if kind not in "XK" else (side, other if name == "A" else side)
                    dtype = dtypes[kind]
                    if number and kind != "m" and rng.random() < 0.06:
                        dtype = "float32" if dtype == "float64" else "float64" if kind != "k" else "int32"
                    layout_kind = rng.choice(("plain",) * 6 + ("gaps", "reversed", "turned"))
                    call.append(("array", kind, dtype, shape, layout_kind, rng.randrange(1 << 30)))
                elif kind == "n":
                    call.append(("number", rng.choice((0, 1, 2, 3, 4, -1, 5))))
                else:
                    call.append(("number", rng.choice((0, 1, 2.5, -0.5, 3, True, 0.0))))
            # Two arguments in one memory.
            arrays = [i for i, a in enumerate(call) if a[0] == "array" and a[1] == "x"]
            if len(arrays) > 1 and rng.random() < 0.12:
                call[arrays[1]] = ("alias", arrays[0], rng.choice(("same", "view", "reversed")))
            self.calls.append(call)
