"""Options of one command that do not go together, said once for each that excludes others."""

from collections.abc import Collection, Mapping
from typing import Any

from lacunet.errors import OptionError
from lacunet.settings import DEFAULTS, Settings

# Options of `fit` that are about something which another option must ask for.
ABOUT: Mapping[str, tuple[str, ...]] = {
    "coefficient_sd": ("--covariates",),
    "missing_covariates": ("--covariates",),
    "evidence": ("--covariates", "--group"),
    "quick": ("--group",),
}
SUBJECTS = {"--covariates": "covariates", "--group": "groups"}


def refuse_beside(
    option: str, which: str, given: Mapping[str, object], but: Collection[str] = ()
) -> None:
    """Refuse what has no meaning beside an option; `which` says what that one does."""
    for name, value in given.items():
        if value and name not in (option, *but):
            raise OptionError(
                f"{name} cannot be given with {option}, which {which}. Leave one of the two out."
            )


def refuse_without(settings: Settings, given: Mapping[str, object]) -> None:
    """Refuse settings that are about something which nobody asks for."""
    for name, wanted in ABOUT.items():
        changed: Any = getattr(settings, name) != getattr(DEFAULTS, name)
        if changed and not any(given[other] for other in wanted):
            subject = " or ".join(SUBJECTS[other] for other in wanted)
            other = " (lacunet evidence measures that of other models)" * (name == "evidence")
            raise OptionError(
                f"--{name.replace('_', '-')} is about {subject}{other}. Give "
                f"{' or '.join(wanted)} too."
            )
