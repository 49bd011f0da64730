"""Runs one case with all programs, taking turns."""

import time

from protocol import Failed, Unsupported
from run import SETTLE_SECONDS, say

LONGEST_SECONDS = 20  # a peer whose call takes longer is left out of the case


def called(line, runner, is_ours, dropped):
    """The answer of one call, or None and a reason in `dropped`. An error of ours ends the comparison."""
    try:
        answer = runner.answer(line)
    except Unsupported as reason:
        dropped[runner.name] = str(reason)
    except Failed as error:
        if is_ours:
            raise
        dropped[runner.name] = str(error)
    else:
        time.sleep(SETTLE_SECONDS)
        return answer
    say(f"  without {runner.name}: {dropped[runner.name]}")
    return None


def run_case(line, ours, peers, rounds, warm_ups):
    """({name: answer of each round}, {name: why it was left out}). Who goes first alternates."""
    left, dropped, last = [*ours, *peers], {}, {}
    for _ in range(warm_ups):
        for runner in list(left):
            answer = called(line, runner, runner in ours, dropped)
            if answer and answer["seconds"] > LONGEST_SECONDS and runner not in ours:
                dropped[runner.name] = f"one call takes {answer['seconds']:.0f} s"
                say(f"  without {runner.name}: {dropped[runner.name]}")
            if runner.name in dropped:
                left.remove(runner)
            else:
                last[runner.name] = answer["seconds"] * answer.get("layers", 1) + SETTLE_SECONDS
    expected = rounds * sum(last[runner.name] for runner in left)
    say(f"  {len(left)} programs, {rounds} rounds, about {expected:.0f} s")
    answers = {runner.name: [] for runner in left}
    for index in range(rounds):
        for runner in list(left if index % 2 == 0 else reversed(left)):
            answer = called(line, runner, runner in ours, dropped)
            if answer is None:
                left.remove(runner)
                del answers[runner.name]
            else:
                answers[runner.name].append(answer)
    return answers, dropped
