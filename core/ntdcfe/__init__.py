"""Counterfactual explanations of any model, without its training data."""

from ntdcfe.counterfactual import Counterfactual
from ntdcfe.errors import InvalidInputError, NTDCFEError, PredictorError
from ntdcfe.explainer import NTDCFE
from ntdcfe.model.watch import Progress
from ntdcfe.problem.constraints import AtMost, Causal, Constraint
from ntdcfe.problem.contribution import Contribution
from ntdcfe.problem.edits import Edit
from ntdcfe.problem.feature import Category, Continuous, Discrete, Feature, OneHot, Ordered
from ntdcfe.problem.features import Features
from ntdcfe.problem.kind import Kind
from ntdcfe.problem.kinds import KINDS
from ntdcfe.problem.objective import Term
from ntdcfe.problem.option import Option
from ntdcfe.problem.plausibility import LocalOutlierDetector
from ntdcfe.problem.survival import Survival, Survived
from ntdcfe.problem.target import Target
from ntdcfe.problem.transition import Intervention
from ntdcfe.problem.words import Change
from ntdcfe.search.refine.moves import Move
from ntdcfe.settings import PAPER, SearchSettings
from ntdcfe.version import __version__

__all__ = [
    "KINDS",
    "NTDCFE",
    "PAPER",
    "AtMost",
    "Category",
    "Causal",
    "Change",
    "Constraint",
    "Continuous",
    "Contribution",
    "Counterfactual",
    "Discrete",
    "Edit",
    "Feature",
    "Features",
    "Intervention",
    "InvalidInputError",
    "Kind",
    "LocalOutlierDetector",
    "Move",
    "NTDCFEError",
    "OneHot",
    "Option",
    "Ordered",
    "PredictorError",
    "Progress",
    "SearchSettings",
    "Survival",
    "Survived",
    "Target",
    "Term",
    "__version__",
]
