"""Names of the version before: they work, with a warning that gives the new name."""

import pytest

import lacunet
from lacunet.deprecation import RENAMED, renamed, renamed_parameter


@pytest.mark.parametrize("name", RENAMED)
def test_classes_have_their_old_names(name):
    with pytest.warns(FutureWarning, match=f"is now `lacunet.{RENAMED[name]}`"):
        old = getattr(lacunet, name)
    assert old is getattr(lacunet, RENAMED[name])


def test_attributes_have_their_old_names():
    class Result:
        new = 3
        old = renamed("old", "new")

    with pytest.warns(FutureWarning, match=r"`Result\.old` is now `new`"):
        assert Result().old == 3


def test_parameters_have_their_old_names():
    @renamed_parameter("old", "new")
    def double(new: int) -> int:
        return 2 * new

    assert double(2) == double(new=2) == 4
    with pytest.warns(FutureWarning, match="`old` of `double` is now `new`"):
        assert double(old=2) == 4
