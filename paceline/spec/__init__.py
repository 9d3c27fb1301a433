"""What a person declares: Study, Run and the parts they name."""

from paceline.spec.identity import plain, run_id
from paceline.spec.part import Part
from paceline.spec.run import Run
from paceline.spec.study import Study

__all__ = ["Part", "Run", "Study", "plain", "run_id"]
