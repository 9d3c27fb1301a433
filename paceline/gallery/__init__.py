"""The studies that ship, one YAML each."""

from pathlib import Path


def gallery() -> dict[str, Path]:
    """Name -> file of every study that ships."""
    return {path.stem: path for path in sorted(Path(__file__).parent.glob("*.yaml"))}
