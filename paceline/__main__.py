"""`python -m paceline`: the command line, also for torchrun."""

from paceline.cli import main

main()
