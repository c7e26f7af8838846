"""The optimum of a rule model: each condition is met at the least cost, and of alternatives the cheapest."""

from __future__ import annotations

import numpy as np
from protocol.arrays import Floats
from protocol.rules import Condition, Rule

from optimum.task import Optimum, Reached, Task

# A strict inequality has no least change; this much beyond zero is as good.
BEYOND = 1e-9


def of_rule(rule: Rule, task: Task, reached: Reached) -> Optimum | None:
    """Give the least costly state that meets a rule; None where the limits do not allow any.

    Parameters
    ----------
    rule
        What has to hold.
    task
        What is minimised.
    reached
        The model's own word.
    """
    x = task.series(task.original)
    state = x.copy()
    for condition in rule.every:
        _meet(rule, condition, state, slice(-rule.window, None))
    if rule.either:
        steps = [slice(-i, -i + 1 or None) for i in range(rule.window, 0, -1)] if rule.either_per_step else None
        for window in steps or [slice(-rule.window, None)]:
            options = []
            for condition in rule.either:
                option = state.copy()
                _meet(rule, condition, option, window)
                options.append((_within(option, task), task.cost(option), option))
            # Of those that the limits allow, the cheapest.
            state = min(options, key=lambda option: (not option[0], option[1]))[2]
    if not _within(state, task):
        return None
    if not reached(state):
        raise RuntimeError("the rule does not put its own optimum in the target class")
    cost = task.cost(state)
    return Optimum(state, cost, cost - BEYOND * state.size)


def _meet(rule: Rule, condition: Condition, state: Floats, window: slice) -> None:
    """Make a condition hold at those steps of a state ``(K, D)``, in place."""
    beyond = {">": BEYOND, "<": -BEYOND, "==": 0.0}[condition.relation]
    value = state[window, condition.column]
    state[window, condition.column] = np.where(condition.holds(state[None, window])[0], value, beyond)


def _within(state: Floats, task: Task) -> bool:
    x = state.ravel()
    return bool((((x >= task.low) & (x <= task.high)) | (x == task.original) | task.discrete).all())
