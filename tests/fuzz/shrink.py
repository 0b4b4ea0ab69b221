"""Makes a failing program smaller while it fails in the same way."""

import ast
import copy
import warnings


def _blocks(tree):
    for node in ast.walk(tree):
        for field in ("body", "orelse"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                yield node, field, block


def _statement_changes(tree):
    """Functions that change a copy of the tree at one place: statements dropped, or their bodies put in
    their place."""
    count = len(list(_blocks(tree)))
    for number in range(count):
        node, field, block = list(_blocks(tree))[number]
        for start in range(len(block)):
            if isinstance(block[start], ast.Import) or getattr(block[start], "name", "") == "f":
                continue

            def drop(other, number=number, start=start):
                node, field, block = list(_blocks(other))[number]
                del block[start]
                if not block and field == "body":
                    block.append(ast.Pass())

            yield drop
            statement = block[start]
            for inner in ("body", "orelse"):
                if isinstance(statement, (ast.If, ast.For, ast.While)) and getattr(statement, inner):

                    def hoist(other, number=number, start=start, inner=inner):
                        block = list(_blocks(other))[number][2]
                        block[start : start + 1] = getattr(block[start], inner)

                    yield hoist
            if getattr(statement, "orelse", None):

                def no_else(other, number=number, start=start):
                    list(_blocks(other))[number][2][start].orelse = []

                yield no_else


def _expression_places(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            continue
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                yield node, field, None
            elif isinstance(value, list):
                for i, one in enumerate(value):
                    if isinstance(one, ast.expr):
                        yield node, field, i


def _parts(expression):
    """What may stand in the place of an expression."""
    if isinstance(expression, ast.BinOp):
        yield from (expression.left, expression.right)
    elif isinstance(expression, ast.UnaryOp):
        yield expression.operand
    elif isinstance(expression, ast.BoolOp):
        yield from expression.values
    elif isinstance(expression, ast.IfExp):
        yield from (expression.body, expression.orelse)
    elif isinstance(expression, ast.Compare):
        if len(expression.ops) > 1:
            yield ast.Compare(expression.left, expression.ops[:1], expression.comparators[:1])
    elif isinstance(expression, ast.Call):
        yield from expression.args
        if isinstance(expression.func, ast.Attribute):
            yield expression.func.value
    elif isinstance(expression, ast.Tuple) and len(expression.elts) > 1:
        for i in range(len(expression.elts)):
            rest = expression.elts[:i] + expression.elts[i + 1 :]
            yield ast.Tuple(rest, expression.ctx) if len(rest) > 1 else rest[0]
    if not isinstance(expression, (ast.Constant, ast.Name, ast.Slice, ast.Tuple)):
        yield ast.Constant(1)
        yield ast.Constant(True)


def _get(tree, number):
    return list(_expression_places(tree))[number]


def _expression_changes(tree):
    for number, (node, field, i) in enumerate(list(_expression_places(tree))):
        value = getattr(node, field) if i is None else getattr(node, field)[i]
        if not isinstance(getattr(value, "ctx", None) or ast.Load(), ast.Load):
            continue
        for choice in range(len(list(_parts(value)))):

            def change(other, number=number, choice=choice):
                node, field, i = _get(other, number)
                value = getattr(node, field) if i is None else getattr(node, field)[i]
                part = list(_parts(value))[choice]
                if i is None:
                    setattr(node, field, part)
                else:
                    getattr(node, field)[i] = part

            yield change
    for number, node in enumerate(ast.walk(tree)):
        if isinstance(node, ast.AugAssign):

            def plain(other, number=number):
                node = list(ast.walk(other))[number]
                for parent in ast.walk(other):
                    for field in ("body", "orelse"):
                        block = getattr(parent, field, None)
                        if isinstance(block, list) and node in block:
                            block[block.index(node)] = ast.Assign([node.target], node.value)

            yield plain


def _without_parameter(source, calls, number):
    tree = ast.parse(source)
    function = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "f")
    del function.args.args[number]
    # Aliases name an argument by number.
    if any(one[0] == "alias" for call in calls for one in call):
        return None
    return ast.unparse(ast.fix_missing_locations(tree)), [c[:number] + c[number + 1 :] for c in calls]


def shrink(source, calls, fails, rounds=400):
    """fails(candidates) gives the index of the first (source, calls) that fails as before, or None."""
    tried = 0
    warnings.simplefilter("ignore", SyntaxWarning)

    def first(candidates):
        nonlocal tried
        candidates = [c for c in candidates if c is not None]
        tried += len(candidates)
        found = fails(candidates) if candidates else None
        return None if found is None else candidates[found]

    progress = True
    while progress and tried < rounds * 10:
        progress = False
        smaller = [(source, calls[:i] + calls[i + 1 :]) for i in range(len(calls)) if len(calls) > 1]
        smaller += [_without_parameter(source, calls, i) for i in range(len(calls[0]))]
        if found := first(smaller):
            source, calls = found
            progress = True
            continue
        for changes in (_statement_changes, _expression_changes):
            tree = ast.parse(source)
            candidates = []
            for change in changes(tree):
                other = copy.deepcopy(tree)
                change(other)
                try:
                    text = ast.unparse(ast.fix_missing_locations(other))
                    compile(text, "<fuzz>", "exec")
                except (SyntaxError, ValueError, TypeError, AttributeError):
                    continue
                if text != source and (len(text), text) < (len(source), source):
                    candidates.append((text, calls))
            candidates.sort(key=lambda c: len(c[0]))
            if found := first(candidates):
                source, calls = found
                progress = True
                break
    return source, calls
