"""The least that a counterfactual can cost, for models that one can look into: what a search of labels is held up to.

Proven optima of forests (a mixed-integer program), rules and linear models; strong references, which need not be
optima, for nearest neighbours and networks. Every answer is put to the model itself before it is given.
"""

from optimum.forest import of_forest
from optimum.linear import of_linear
from optimum.neighbours import of_neighbours
from optimum.network import of_network
from optimum.rules import of_rule
from optimum.task import Optimum, Task

__all__ = ["Optimum", "Task", "of_forest", "of_linear", "of_neighbours", "of_network", "of_rule"]
