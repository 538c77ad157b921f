"""The public names with their types, for type checkers; ``__init__.py`` has the same table."""

from .cases import Case as Case
from .engines.meter import Budget as Budget
from .engines.models import Model as Model
from .errors import JuristError as JuristError
from .errors import StoppedError as StoppedError
from .evaluation.checked_items import Check as Check
from .evaluation.proof import Proof as Proof
from .evaluation.votes import Sampling as Sampling
from .gold.goldset import Gold as Gold
from .gold.mapping import RowMapping as RowMapping
from .gold.rejects import Rejects as Rejects
from .jobs.cascading import Cascade as Cascade
from .jobs.comparing import Comparison as Comparison
from .jobs.compiling import Compiled as Compiled
from .jobs.compiling import compile as compile
from .jobs.exporting import export as export
from .jobs.gold_plan import plan_gold as plan_gold
from .jobs.judges import judge as judge
from .jobs.judges import load as load
from .jobs.judges import run as run
from .jobs.moving import move as move
from .jobs.refitting import refit as refit
from .jobs.scoring import assert_judge as assert_judge
from .jobs.scoring import cascade as cascade
from .jobs.scoring import compare as compare
from .jobs.scoring import evaluate as evaluate
from .jobs.scoring import gate as gate
from .jobs.scoring import harden as harden
from .jobs.unlabelled import prove as prove
from .keeping.artifact_card import Artifact as Artifact
from .keeping.artifacts import Store as Store
from .keeping.loading import LoadedJudge as LoadedJudge
from .programs.answers.labels import OneLabel as OneLabel
from .programs.answers.labels import Preference as Preference
from .programs.answers.whole import LabelSet as LabelSet
from .programs.answers.whole import ObjectSet as ObjectSet
from .programs.answers.whole import Score as Score
from .programs.frozen import frozen as frozen
from .programs.frozen import verifier as verifier
from .programs.generator import Generator as Generator
from .programs.judge import Judge as Judge
from .programs.verdicts import Verdict as Verdict
from .text.traces import Trace as Trace

__version__: str
