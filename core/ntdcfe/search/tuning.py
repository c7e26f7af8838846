"""The numbers of all phases in one object, so that they can be reached from the settings."""

from __future__ import annotations

from dataclasses import dataclass, field

from ntdcfe.problem.reprs import typed_back
from ntdcfe.search.default import PhaseTuning
from ntdcfe.search.edits.tuning import ProposalTuning, TestTuning, WalkTuning
from ntdcfe.search.episodes import EpisodeTuning
from ntdcfe.search.into_distribution import DistributionTuning
from ntdcfe.search.novelty import NoveltyTuning
from ntdcfe.search.refine.additive.plane import PlaneTuning
from ntdcfe.search.refine.additive.slopes import SlopeTuning
from ntdcfe.search.refine.additive.tuning import AdditiveTuning
from ntdcfe.search.refine.descent import DescentTuning
from ntdcfe.search.refine.moves.exchange import ExchangeTuning
from ntdcfe.search.refine.moves.rebuild import RebuildTuning
from ntdcfe.search.refine.moves.shrink import ShrinkTuning
from ntdcfe.search.refine.race import RefineTuning
from ntdcfe.search.refine.substitutes import SubstituteTuning
from ntdcfe.search.refine.surrogate import SurrogateTuning
from ntdcfe.search.refine.thin import ThinTuning
from ntdcfe.search.refine.windows import WindowTuning
from ntdcfe.search.screening import ScreeningTuning
from ntdcfe.search.starts import StartTuning
from ntdcfe.search.tables import TableTuning
from ntdcfe.search.variety import VarietyTuning


@dataclass(frozen=True, repr=False)
class SearchTuning:
    """The numbers of the phases of the default search, each phase's in its own file."""

    phases: PhaseTuning = field(default_factory=PhaseTuning)
    starts: StartTuning = field(default_factory=StartTuning)
    episodes: EpisodeTuning = field(default_factory=EpisodeTuning)
    walk: WalkTuning = field(default_factory=WalkTuning)
    proposals: ProposalTuning = field(default_factory=ProposalTuning)
    tests: TestTuning = field(default_factory=TestTuning)
    novelty: NoveltyTuning = field(default_factory=NoveltyTuning)
    distribution: DistributionTuning = field(default_factory=DistributionTuning)
    tables: TableTuning = field(default_factory=TableTuning)
    screening: ScreeningTuning = field(default_factory=ScreeningTuning)
    variety: VarietyTuning = field(default_factory=VarietyTuning)
    refine: RefineTuning = field(default_factory=RefineTuning)
    descent: DescentTuning = field(default_factory=DescentTuning)
    shrink: ShrinkTuning = field(default_factory=ShrinkTuning)
    rebuild: RebuildTuning = field(default_factory=RebuildTuning)
    exchange: ExchangeTuning = field(default_factory=ExchangeTuning)
    additive: AdditiveTuning = field(default_factory=AdditiveTuning)
    slopes: SlopeTuning = field(default_factory=SlopeTuning)
    plane: PlaneTuning = field(default_factory=PlaneTuning)
    substitutes: SubstituteTuning = field(default_factory=SubstituteTuning)
    thin: ThinTuning = field(default_factory=ThinTuning)
    windows: WindowTuning = field(default_factory=WindowTuning)
    surrogate: SurrogateTuning = field(default_factory=SurrogateTuning)

    __repr__ = typed_back
