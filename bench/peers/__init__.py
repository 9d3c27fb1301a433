"""The same sweeps as their authors would train them in other tools. A module whose tool is missing fails to import."""
