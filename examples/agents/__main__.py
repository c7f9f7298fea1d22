"""All sample agents in one process, each under its handle: `python -m examples.agents --port 9000`."""

from examples.agents import almanac, calculator, dice, handbook, textstats, units
from examples.agents.serving import main

AGENTS = {module.AGENT.handle: module.AGENT for module in (dice, calculator, units, textstats, almanac, handbook)}

if __name__ == "__main__":
    main(AGENTS, port=9000)
