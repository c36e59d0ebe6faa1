"""Which scenarios there are, and in which form each runs."""

from tests.chaos import long_scenarios, scenarios
from tests.chaos.runner import Run

SCENARIOS = {"kill": scenarios.Kill, "points": scenarios.Points, "group": scenarios.Group, "zombie": scenarios.Zombie, "slow": scenarios.Slow,
             "broker": scenarios.Broker, "manager": scenarios.Manager, **long_scenarios.LONG}
SHORT = ("kill", "points", "group", "zombie")


def run(names, seed, kills, jobs, seconds, reloads=True, keep=None):
    """Side by side."""
    return Run({name: SCENARIOS[name] for name in names}, seed, kills, jobs, seconds, reloads=reloads, keep=keep).run()
