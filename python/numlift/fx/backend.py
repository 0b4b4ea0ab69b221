"""How a user's backend is asked for its program. Called by the extension."""

from .capture import Capture


def ask_backend(backend, description, inputs, symbols):
    """(callable, indices of the inputs it takes, indices of the sizes that follow them)"""
    capture = Capture(description)
    examples = [inputs[i] for i in capture.inputs] + [symbols[i] for i in capture.sizes]
    made = backend(capture.graph, examples)
    if not callable(made):
        name = getattr(backend, "__qualname__", None) or type(backend).__name__
        raise TypeError(f"the backend {name} returned {type(made).__name__}, which is not callable")
    return made, capture.inputs, capture.sizes
