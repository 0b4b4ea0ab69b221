"""The transforms as they are traced: Python around the intrinsics. Nothing here runs in CPython."""

import numpy as np

from .intrinsics import (
    batch,
    check_inexact,
    check_scalar,
    check_sizes,
    example,
    pull_back,
    pure_call,
    push_forward,
    refuse,
    variable,
)
from .trees import flatten, leaf_count, prefix, unflatten


def call(transformed, /, *args, **kwargs):
    kind = transformed.kind
    if kind == "grad":
        result, gradients = differentiate(transformed, args, kwargs)
        return (gradients, result[1]) if transformed.has_aux else gradients
    if kind == "value_and_grad":
        return differentiate(transformed, args, kwargs)
    if kind == "vmap":
        return map_over(transformed, args, kwargs)
    if kind == "jacobian":
        return all_derivatives(transformed, args, kwargs)
    if kind == "jvp":
        return jvp(transformed.fun, args[0], args[1], transformed.has_aux)
    if kind == "value":
        return pure_call(transformed.fun, args, kwargs)
    if kind == "pullback":
        return vjp(transformed.fun, args[0], transformed.has_aux)[1](args[1])
    raise AssertionError


def variables_at(transformed, args):
    """(args with variables at argnums, the variables, one structure a position, which of several)"""
    name = "numlift." + transformed.kind
    argnums = transformed.argnums
    several = type(argnums) is tuple
    places = argnums if several else (argnums,)
    args = list(args)
    variables = []
    structures = []
    for place in places:
        if not -len(args) <= place < len(args):
            refuse("value", "argnums of " + name + " names a positional argument that is not given")
        leaves = []
        structure = flatten(args[place], leaves)
        fresh = [variable(leaf, "argument " + str(place) + " of " + name) for leaf in leaves]
        args[place] = unflatten(structure, fresh)
        variables += fresh
        structures.append(structure)
    return args, variables, structures, several


def by_argument(structures, several, leaves):
    it = 0
    results = []
    for structure in structures:
        count = leaf_count(structure)
        results.append(unflatten(structure, leaves[it : it + count]))
        it += count
    return tuple(results) if several else results[0]


def with_aux(result, has_aux, name):
    if not has_aux:
        return result, None
    if type(result) is not tuple or len(result) != 2:
        refuse("type", name + " with has_aux=True: the function gives no pair (result, auxiliary data)")
    return result


def differentiate(transformed, args, kwargs):
    name = "numlift." + transformed.kind
    args, variables, structures, several = variables_at(transformed, args)
    result = pure_call(transformed.fun, args, kwargs)
    value, _ = with_aux(result, transformed.has_aux, name)
    check_scalar(value, name)
    gradients = pull_back(variables, [value], [1.0])
    return result, by_argument(structures, several, gradients)


def vjp(fun, primals, has_aux):
    structures = []
    variables = []
    args = []
    for place, primal in enumerate(primals):
        leaves = []
        structures.append(flatten(primal, leaves))
        fresh = [variable(leaf, "argument " + str(place) + " of numlift.vjp") for leaf in leaves]
        variables += fresh
        args.append(unflatten(structures[-1], fresh))
    value, aux = with_aux(pure_call(fun, args, {}), has_aux, "numlift.vjp")
    outputs = []
    flatten(value, outputs)
    for output in outputs:
        check_inexact(output, "the result of numlift.vjp")

    def pullback(cotangents):
        given = []
        flatten(cotangents, given)
        return by_argument(structures, True, pull_back(variables, outputs, given))

    return (value, pullback, aux) if has_aux else (value, pullback)


def jvp(fun, primals, tangents, has_aux):
    structures = []
    variables = []
    args = []
    for place, primal in enumerate(primals):
        leaves = []
        structure = flatten(primal, leaves)
        fresh = [variable(leaf, "argument " + str(place) + " of numlift.jvp") for leaf in leaves]
        variables += fresh
        args.append(unflatten(structure, fresh))
    given = []
    flatten(tangents, given)
    value, aux = with_aux(pure_call(fun, args, {}), has_aux, "numlift.jvp")
    outputs = []
    structure = flatten(value, outputs)
    for output in outputs:
        check_inexact(output, "the result of numlift.jvp")
    changes = unflatten(structure, push_forward(variables, given, outputs))
    return (value, changes, aux) if has_aux else (value, changes)


def all_derivatives(transformed, args, kwargs):
    name = "numlift." + transformed.kind
    args, variables, structures, several = variables_at(transformed, args)
    value, aux = with_aux(pure_call(transformed.fun, args, kwargs), transformed.has_aux, name)
    outputs = []
    structure = flatten(value, outputs)
    found = []
    for output in outputs:
        check_inexact(output, "the result of " + name)
        found.append(by_argument(structures, several, derivatives_of(output, variables)))
    result = unflatten(structure, found)
    return (result, aux) if transformed.has_aux else result


def derivatives_of(output, variables):
    """By variable: an array of the shape of the output, then of the variable."""
    if np.ndim(output) == 0:
        return pull_back(variables, [output], [1.0])
    shape = output.shape
    basis = np.eye(output.size, dtype=output.dtype).reshape((output.size,) + shape)
    one = example(basis, 0)
    rows = batch([one], [basis], [0], pull_back(variables, [output], [one]))
    return [row.reshape(shape + row.shape[1:]) for row in rows]


def map_over(transformed, args, kwargs):
    structures = []
    leaves = []
    axes = []
    names = []
    in_axes = transformed.in_axes
    if type(in_axes) is list:
        in_axes = tuple(in_axes)
    if type(in_axes) is tuple and len(in_axes) != len(args):
        refuse("value", "in_axes of numlift.vmap has not as many entries as there are positional arguments")
    for place, arg in enumerate(args):
        own = []
        structure = flatten(arg, own)
        along = prefix(in_axes[place] if type(in_axes) is tuple else in_axes, structure)
        if along is None:
            refuse("value", "in_axes of numlift.vmap does not fit argument " + str(place))
        structures.append(structure)
        leaves += own
        axes += along
        names += ["argument " + str(place)] * len(own)
    for key in kwargs:
        own = []
        structures.append(flatten(kwargs[key], own))
        leaves += own
        axes += [0] * len(own)
        names += ["argument " + key] * len(own)
    axes = check_sizes(leaves, axes, names)
    values = []
    along = []
    examples = []
    given = []
    for leaf, axis in zip(leaves, axes):
        if axis is None:
            given.append(leaf)
            continue
        one = example(leaf, axis)
        values.append(leaf)
        along.append(axis)
        examples.append(one)
        given.append(one)
    rebuilt = by_argument(structures, True, given)
    result = pure_call(
        transformed.fun, rebuilt[: len(args)], dict(zip(kwargs, rebuilt[len(args) :]))
    )
    outputs = []
    structure = flatten(result, outputs)
    placed = prefix(transformed.out_axes, structure)
    if placed is None:
        refuse("value", "out_axes of numlift.vmap does not fit the result")
    moved = []
    for output, axis in zip(batch(examples, values, along, outputs), placed):
        if axis is None:
            refuse("value", "out_axes of numlift.vmap is None for a result")
        moved.append(np.moveaxis(output, 0, axis) if axis != 0 else output)
    return unflatten(structure, moved)
