"""The studies' experiments, so small that each takes seconds."""

import test_paper_run

from studies.design import StudyDesign

TINY = StudyDesign(
    **vars(test_paper_run.TINY),
    truth_states={2: (1, 2), 3: (2, 3)},
    alternative_panels=((4, 2, 40), (5, 2, 60)),
)
