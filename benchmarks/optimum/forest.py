"""The proven optimum of a random forest, as a mixed-integer program.

A forest sees of a cell only between which of its thresholds it lies. For each cell and threshold a binary says whether
the cell is at most that; each tree picks one leaf, and may pick one below a branch only if the cell is on its side. The
mean of the leaves' shares has to put the target class ahead, as scikit-learn's soft vote has it. What a cell costs is
that of the nearest value in its interval, so that the cost is linear in the binaries, the price of a cell included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from protocol.arrays import Floats
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from optimum.task import Optimum, Reached, Task

# By how much more than half of the votes the target class has to have: the solver keeps constraints to a millionth
# each. Leaves of the paper's forests are pure, so that votes are whole numbers and nothing is lost by it.
LEAD = 1e-3


@dataclass(frozen=True)
class Cells:
    """The intervals between thresholds, of every cell that the forest looks at, inside its limits.

    Attributes
    ----------
    first
        The position of each cell's first binary; there is one for every interval but the last.
    values, costs
        By cell, of each interval in order: the nearest value in it, and what that costs.
    """

    first: dict[int, int]
    values: dict[int, Floats]
    costs: dict[int, Floats]

    @property
    def n(self) -> int:
        """How many binaries there are."""
        return sum(len(values) - 1 for values in self.values.values())


def of_forest(forest: Any, task: Task, reached: Reached, seconds: float = 60.0, gap: float = 1e-3) -> Optimum | None:
    """Give the least costly state that a scikit-learn forest of two classes puts in the second.

    Parameters
    ----------
    forest
        Fitted on rows of ``K * D`` cells.
    task
        What is minimised.
    reached
        The model's own word.
    seconds, gap
        When the solver may stop; the bound of the answer tells how near it is then.

    Returns
    -------
    Optimum or None
        None where no state inside the limits is in the second class.

    Raises
    ------
    RuntimeError
        Where the model does not agree with the program.
    """
    trees = [tree.tree_ for tree in forest.estimators_]
    cells = _cells(trees, task)
    objective, constant = _objective(cells)
    rows, columns, entries, upper = _branches(trees, cells)
    n_leaves = [int((tree.children_left < 0).sum()) for tree in trees]
    # Binaries, then leaves, then a one that carries the constant, so that the gap is a share of the whole cost.
    leaves = cells.n + np.arange(sum(n_leaves))
    n = cells.n + len(leaves) + 1
    branches = csr_array((entries, (rows, columns)), (len(upper), n))
    of_tree = np.repeat(np.arange(len(trees)), n_leaves)
    one_leaf = csr_array((np.ones(len(leaves)), (of_tree, leaves)), (len(trees), n))
    shares = np.concatenate([_shares(tree) for tree in trees])
    votes = csr_array((shares, (np.zeros(len(leaves), int), leaves)), (1, n))
    solved = milp(
        np.concatenate([objective, np.zeros(len(leaves)), [constant]]),
        integrality=np.arange(n) < cells.n,
        bounds=Bounds(np.arange(n) == n - 1, 1),
        constraints=[
            LinearConstraint(branches, -np.inf, upper),
            LinearConstraint(one_leaf, 1, 1),
            LinearConstraint(votes, len(trees) / 2 + LEAD, np.inf),
        ],
        options={"time_limit": seconds, "mip_rel_gap": gap},
    )
    if solved.x is None:
        return None
    x = _state(solved.x, cells, task)
    if not reached(task.series(x)):
        raise RuntimeError("the forest does not put the program's answer in the target class")
    return Optimum(task.series(x), task.cost(x), float(solved.mip_dual_bound))


def _cells(trees: list[Any], task: Task) -> Cells:
    """Find the nearest value of every interval between thresholds."""
    feature = np.concatenate([tree.feature for tree in trees])
    threshold = np.concatenate([tree.threshold for tree in trees])
    found = Cells({}, {}, {})
    n = 0
    for cell in np.unique(feature[feature >= 0]).tolist():
        now, values = task.original[cell], _nearest(np.unique(threshold[feature == cell]), task, cell)
        size = values != now if task.values[cell] is not None else np.abs(values - now)
        found.first[cell], found.values[cell] = n, values
        found.costs[cell] = task.weight[cell] * size + task.price * (values != now)
        n += len(values) - 1
    return found


def _nearest(thresholds: Floats, task: Task, cell: int) -> Floats:
    """Give the nearest allowed value of each interval between a cell's thresholds, in order."""
    now, choices = task.original[cell], task.values[cell]
    if choices is not None:
        parts = np.split(np.sort(choices), np.searchsorted(np.sort(choices), thresholds, side="right"))
        return np.array([now if now in part else part[0] for part in parts if len(part)])
    # Trees compare single precision: the last number below a threshold and the first above it.
    below = thresholds.astype(np.float32)
    below = np.unique(np.where(below <= thresholds, below, np.nextafter(below, np.float32(-np.inf))))
    above = np.nextafter(below, np.float32(np.inf)).astype(float)
    inside = (below >= task.low[cell]) & (above <= task.high[cell])
    below, above = below[inside].astype(float), above[inside]
    values = np.clip(now, np.append(task.low[cell], above), np.append(below, task.high[cell]))
    values[int((float(np.float32(now)) > below).sum())] = now  # as the trees see it, whatever was rounded
    return np.asarray(values)


def _objective(cells: Cells) -> tuple[Floats, float]:
    """What the binaries cost, and what is paid in any case: the cost of each cell's last interval."""
    objective, constant = np.zeros(cells.n), 0.0
    for cell, cost in cells.costs.items():
        at = cells.first[cell] + np.arange(len(cost) - 1)
        objective[at] = cost[:-1] - cost[1:]
        constant += float(cost[-1])
    return objective, constant


def _branches(trees: list[Any], cells: Cells) -> tuple[list[int], list[int], list[float], list[float]]:
    """The constraints "a leaf below a branch is picked only if the cell is on its side", and "thresholds are in order".

    Entries of a sparse matrix (their rows, columns and values), and the upper limits of its rows.
    """
    rows: list[int] = []
    columns: list[int] = []
    entries: list[float] = []
    upper: list[float] = []

    def add(members: list[int], values: list[float], limit: float) -> None:
        rows.extend([len(upper)] * len(members))
        columns.extend(members)
        entries.extend(values)
        upper.append(limit)

    for cell, values in cells.values.items():
        for i in range(cells.first[cell], cells.first[cell] + len(values) - 2):
            add([i, i + 1], [1.0, -1.0], 0.0)
    first_leaf = cells.n
    for tree in trees:
        place = np.full(tree.node_count, -1)
        leaves = np.flatnonzero(tree.children_left < 0)
        place[leaves] = first_leaf + np.arange(len(leaves))
        below = _leaves_below(tree, place)
        for node in np.flatnonzero(tree.children_left >= 0).tolist():
            cell, threshold = int(tree.feature[node]), float(tree.threshold[node])
            left, right = below[tree.children_left[node]], below[tree.children_right[node]]
            values = cells.values[cell]
            # Back to double: beside a plain number numpy would round the threshold to single precision, too.
            n_left = int((values.astype(np.float32).astype(float) <= threshold).sum())
            if 0 < n_left < len(values):
                binary = cells.first[cell] + n_left - 1
                add([*left, binary], [1.0] * len(left) + [-1.0], 0.0)
                add([*right, binary], [1.0] * len(right) + [1.0], 1.0)
            else:  # every allowed value is on one side
                never = right if n_left else left
                add(never, [1.0] * len(never), 0.0)
        first_leaf += len(leaves)
    return rows, columns, entries, upper


def _leaves_below(tree: Any, place: Any) -> list[list[int]]:
    """Give the columns of the leaves below each node."""
    below: list[list[int]] = [[] for _ in range(tree.node_count)]
    for node in range(tree.node_count - 1, -1, -1):  # children come after their parents
        left, right = tree.children_left[node], tree.children_right[node]
        below[node] = [int(place[node])] if left < 0 else below[left] + below[right]
    return below


def _shares(tree: Any) -> Floats:
    """Give the share of the second class in each leaf."""
    value = tree.value[tree.children_left < 0, 0]
    return np.asarray(value[:, 1] / value.sum(1))


def _state(solution: Floats, cells: Cells, task: Task) -> Floats:
    """Give the state ``(K * D,)`` of a solution: each cell at the nearest value of its interval."""
    x = task.original.copy()
    for cell, values in cells.values.items():
        binaries = solution[cells.first[cell] : cells.first[cell] + len(values) - 1] > 0.5
        x[cell] = values[len(values) - 1 - int(binaries.sum())]
    return x
