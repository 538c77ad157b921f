"""The share of whole compilations that say "better", by the rule that chooses what is proven: a simulation.

A basic prompt is right in 70 % of the cases. Of twelve other prompts one is better by each of ``--gains``, the others
are up to .05 better or worse; without a gain all are as good as the basic one. A part of the luck of a case is the same
for all prompts (``--shared``): it says on how many rows two prompts differ. Of the labels 30 % are train, 20 % dev,
50 % test, as jurist splits so few (``--shares`` gives others). The candidate is chosen on train and dev by the board,
and proven on the test, over the basic prompt and over the best constant answer.

- the best estimate: what jurist does;
- the earlier rule: a gain of two errors that dev (p at most .1) and all cases (.05) show by themselves, proven by swaps
  of whole groups alone. An earlier simulation found that it shows a gain of .10 with 200 labels in .233 of the runs, in
  34 groups of 6 in .177. In the world of ``--shared .9`` it does so about as often;
- the best prompt: nobody knows which one it is.

``--bound`` prints the power of a z-test that knows the error of the gain in accuracy and takes no caution, by the share
of rows on which the two prompts differ.

Run: python benchmarks/choice.py --runs 400 --gains 0 .1 --shared .9
"""

import argparse
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import binomtest
from simulator import JUDGE as SIMULATED  # type: ignore[import-not-found]  # beside this file

from jurist.cases import Case
from jurist.engines.channel import CallContext
from jurist.evaluation.proof import prove_improvement
from jurist.evaluation.scale import resolve
from jurist.gold.splits import PARTS, Shares, checked_shares, default_shares
from jurist.optimizers.board import Board, Candidate
from jurist.optimizers.objective import row_of
from jurist.programs.verdicts import Verdict

JUDGE = SIMULATED.with_metric("balanced_accuracy")
CANDIDATES = 12
RIGHT = 0.70
NEAR = 0.05
SHARED = 0.5
"""The part of the luck of a case that all prompts share."""
SHAPES = ((200, 1), (34, 6))
"""Groups, and the units of each."""
TOGETHER = 0.1
"""The part of luck that the units of a group share, for all prompts alike, where groups hold several."""
ESTIMATE = "the best estimate"
EARLIER = "the earlier rule"
BEST = "the best prompt"
RULES = (ESTIMATE, EARLIER, BEST)
STRICT = 2.0
LEVEL = 0.025
DIFFER = (0.12, 0.15, 0.2, 0.25, 0.3, 0.35)


@dataclass(frozen=True)
class World:
    """Cases with labels, and how right each prompt is; the first prompt is the basic one."""

    cases: dict[str, list[Case]]  # by part
    rights: dict[str, np.ndarray]  # by part: (prompts, cases), whether each prompt is right

    def verdict(self, part: str, prompt: int, place: int) -> Verdict:
        """Return the verdict of a prompt on a case."""
        case = self.cases[part][place]
        label = str((case.gold or ("",))[0])
        if not self.rights[part][prompt, place]:
            label = {"accept": "reject", "reject": "accept"}[label]
        return Verdict(id=case.id, status="verdict", values=(label,))


def drawn(
    groups: int, size: int, gain: float, positive: float, seed: int, shares_of_parts: Shares, shared: float
) -> World | None:
    """Return a world; ``None`` where a part has labels of one kind alone, which jurist refuses."""
    rng = np.random.default_rng([seed, groups])
    shares = [RIGHT, RIGHT + gain]
    for _ in range(CANDIDATES - 1):
        shares.append(RIGHT + (rng.uniform(-NEAR, NEAR) if gain else 0.0))
    together = TOGETHER if size > 1 else 0.0
    order = rng.permutation(groups)
    first = round(groups * shares_of_parts[0])
    second = round(groups * (shares_of_parts[0] + shares_of_parts[1]))
    cases: dict[str, list[Case]] = {}
    rights: dict[str, np.ndarray] = {}
    for part, chosen in zip(PARTS, np.split(order, [first, second]), strict=True):
        cases[part] = []
        for group in chosen.tolist():
            for unit in range(size):
                label = "accept" if rng.random() < positive else "reject"
                inputs = dict.fromkeys(JUDGE.signature.input_fields, f"{group} {unit}")
                cases[part].append(Case(inputs=inputs, group=f"g{group}", gold=(label,)))
        if len({case.gold for case in cases[part]}) < 2:
            return None
        units = len(cases[part])
        common = np.sqrt(together) * np.repeat(rng.normal(size=len(chosen)), size)
        common += np.sqrt(shared - together) * rng.normal(size=units)
        luck = common + np.sqrt(1.0 - shared) * rng.normal(size=(len(shares), units))
        rights[part] = luck < ndtri(np.array(shares))[:, np.newaxis]
    return World(cases, rights)


def chosen_by_rule(world: World) -> dict[str, int]:
    """Return the prompt that each rule chooses on train and dev; 0 is the basic one."""
    board = Board(JUDGE, lambda program, setting: None, CallContext.fresh())  # type: ignore[arg-type,return-value]
    candidates = [board.basic]
    for number in range(1, CANDIDATES + 1):
        state = board.basic.state.with_instruction("self", f"Prompt {number}.")
        candidates.append(board.add(state, parent=board.basic, source="simulated"))
    for part in ("train", "dev"):
        for prompt, candidate in enumerate(candidates):
            for place, case in enumerate(world.cases[part]):
                board.record(candidate, case, world.verdict(part, prompt, place))
    dev = world.cases["dev"]
    best = board.best(dev) or board.basic
    strict = _strict(board, candidates[1:], dev)
    places = {candidate.id: prompt for prompt, candidate in enumerate(candidates)}
    return {
        ESTIMATE: places[best.id],
        EARLIER: places[strict.id],
        BEST: 1,
    }


def _strict(board: Board, candidates: Sequence[Candidate], dev: Sequence[Case]) -> Candidate:
    """Return the candidate with the best bound of those that pass the strict gate, else the basic one."""
    best = board.basic
    for _ in range(2):  # credits are to first order: the second time around what was chosen
        stands = board.standings(best)
        basic = stands[board.basic.id]
        best = board.basic
        for candidate in candidates:
            standing = stands[candidate.id]
            is_clear = standing.gain(basic) > STRICT * standing.doubt(basic)
            is_ahead = standing.bound(basic) > stands[best.id].bound(basic)
            if is_clear and is_ahead and board.shows_gain(candidate, dev):
                best = candidate
    return best


def is_proven(world: World, prompt: int, *, by_swaps: bool) -> bool:
    """Return True where the sealed test says "better" of a prompt, by jurist's test or by swaps of whole groups."""
    if prompt == 0:
        return False
    cases = world.cases["test"]
    places = range(len(cases))
    basic = [row_of(case, world.verdict("test", 0, place)) for place, case in zip(places, cases, strict=True)]
    other = [
        row_of(case, world.verdict("test", prompt, place)) for place, case in zip(places, cases, strict=True)
    ]
    always = [row_of(case, Verdict(id=case.id, status="verdict", values=("accept",))) for case in cases]
    constant = ('always "accept"', always)
    metric = resolve(JUDGE.metric, JUDGE.comparison)
    if by_swaps:
        metric = replace(metric, test="swaps")
    proof = prove_improvement(basic, other, metric, JUDGE.comparison, constant=constant)
    return bool(proof.decision.verdict == "better")


def share_words(count: int, runs: int) -> str:
    """Return a share of the runs, with its interval of 95 % (Wilson 1927)."""
    ends = binomtest(count, runs).proportion_ci(method="wilson")
    return f"{count / runs:.3f} ({ends.low:.3f} to {ends.high:.3f})"


def z_test_power(gain: float, differ: float, rows: int) -> float:
    """Return the power of the one-sided z-test of a gain in accuracy, where two prompts differ on a share of rows."""
    error = math.sqrt((differ - gain**2) / rows)
    return float(ndtr(gain / error + ndtri(LEVEL)))


def print_bound(gain: float) -> None:
    """Print the power of the z-test by the share of rows on which the prompts differ, for tests of three sizes."""
    print("| rows of the test | " + " | ".join(f"differ on {differ:g}" for differ in DIFFER) + " |")
    print("|" + "---|" * (1 + len(DIFFER)))
    for rows in (60, 100, 120):
        powers = [f"{z_test_power(gain, differ, rows):.2f}" for differ in DIFFER]
        print(f"| {rows} | " + " | ".join(powers) + " |")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=300, help="compilations a setting (default: 300)")
    parser.add_argument("--gains", type=float, nargs="+", default=[0.0, 0.1, 0.15])
    parser.add_argument(
        "--positive", type=float, default=0.3, help="the share of positive labels (default: .3)"
    )
    parser.add_argument(
        "--shared",
        type=float,
        default=SHARED,
        help="the part of a case's luck that all prompts share, from .1 to below 1 (default: .5)",
    )
    parser.add_argument(
        "--shares", type=float, nargs=3, default=default_shares(200), help="of train, dev and test"
    )
    parser.add_argument(
        "--bound",
        action="store_true",
        help="print the power of a z-test without caution at a gain of .10, and simulate nothing",
    )
    arguments = parser.parse_args()
    if arguments.bound:
        print_bound(0.1)
        return
    if not TOGETHER <= arguments.shared < 1.0:
        parser.error(f"--shared is {arguments.shared:g}: give a part from {TOGETHER:g} to below 1")
    shares = checked_shares(arguments.shares)
    print(
        "| groups x units | gain | differ | "
        + " | ".join(f"{rule}: proven | right | better" for rule in RULES)
        + " |"
    )
    print("|" + "---|" * (3 + 3 * len(RULES)))
    for groups, size in SHAPES:
        for gain in arguments.gains:
            proven: Counter[str] = Counter()
            right: Counter[str] = Counter()
            better: Counter[str] = Counter()
            runs = 0
            differ = 0.0
            for seed in range(arguments.runs):
                world = drawn(groups, size, gain, arguments.positive, seed, shares, arguments.shared)
                if world is None:
                    continue
                runs += 1
                differ += float((world.rights["test"][0] != world.rights["test"][1]).mean())
                shown: dict[tuple[int, bool], bool] = {}
                for rule, prompt in chosen_by_rule(world).items():
                    key = (prompt, rule == EARLIER)
                    if key not in shown:
                        shown[key] = is_proven(world, prompt, by_swaps=rule == EARLIER)
                    proven[rule] += prompt != 0
                    right[rule] += prompt == 1
                    better[rule] += shown[key]
            cells = []
            for rule in RULES:
                cells.append(
                    f"{proven[rule] / runs:.2f} | {right[rule] / runs:.2f} | {share_words(better[rule], runs)}"
                )
            start = f"| {groups} x {size} | {gain:g} | {differ / runs:.2f} | "
            print(start + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
