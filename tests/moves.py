"""Random features whose categories may not go everywhere, and which moves of them were forbidden."""

import numpy as np

from ntdcfe import Category, Continuous, OneHot, Ordered


def random_feature(rng, name):
    """A category, ordered or not, in one column or in several, some of its moves forbidden; now and then a number."""
    kind = rng.integers(5)
    if kind == 0:
        return Continuous(name=name, bounds=(-2, 2))
    labels = [f"{name}{i}" for i in range(rng.integers(2, 5))]
    direction = [None, "rise", "fall"][rng.integers(3)]
    moves = {a: [b for b in labels if rng.random() < 0.5] for a in labels if rng.random() < 0.9}
    options = {"name": name, "direction": direction, "moves": moves if rng.random() < 0.7 else None}
    return [Category, Ordered, OneHot, OneHot][kind - 1](labels, **options)


def forbidden(features, before, after):
    """The features of states ``(n, K, F)`` that went where they may not."""
    found = set()
    for i, feature in enumerate(features):
        if feature.choices is None:
            continue
        old, new = np.broadcast_to(before[..., i], after[..., i].shape).ravel(), after[..., i].ravel()
        for a, b in {(a, b) for a, b in zip(old, new, strict=True) if a != b}:
            listed = feature.moves is None or feature.describe(b) in dict(feature.moves).get(feature.describe(a), ())
            wrong_way = {"rise": b < a, "fall": b > a}.get(feature.direction, False)
            if not listed or wrong_way:
                found.add((feature, a, b))
    return found
