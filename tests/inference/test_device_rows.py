"""Rows on a device, held to the enumeration plan through the kernels' twin; what is refused."""

import pickle
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given

import lacunet
from devices import Twin, TwinRows, fake_cupy
from enumeration import enumerated
from examples import examples
from lacunet.errors import OptionError
from lacunet.fitting.fit import Options, learn
from lacunet.fitting.objective import Estimate, Objective, race, random_starts
from lacunet.inference.classes import complete_counts, safe_log
from lacunet.inference.devices import cuda
from lacunet.inference.devices.cuda import TILE, shape_for
from lacunet.inference.devices.device import DeviceName, Field, open_device, pack
from problems import cases, make, make_case
from row_by_row import NETWORKS

there = patch.object(cuda, "open_cuda", Twin)


@examples(60)
@given(case=cases(max_rows=20, max_leaves=9))
def test_expected_counts_and_tangents(case):
    rng = np.random.default_rng(0)
    x = np.vstack([safe_log(case.theta), rng.standard_normal((2, case.layout.size))])
    if case.problem.components.hidden:
        x[0, rng.random(case.layout.size) < 0.1] = -np.inf
    placed, (expected,) = case.problem.on(Twin()), enumerated(case.problem).components.plans
    result, N = np.zeros((2, *x.shape))
    log_lik = sum(
        (plan.expect(x, result) for plan in placed.components.plans), np.zeros(len(x))
    )  # one class: nothing is hidden, and nothing asked of a device
    seen = placed.components.seen
    result += seen
    log_lik += [float(seen[seen > 0] @ one[seen > 0]) for one in x]
    np.testing.assert_allclose(log_lik, expected.expect(x, N), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(result, N, atol=1e-11)
    direction = rng.standard_normal(case.layout.size)
    change = sum((p.tangent(x[1])(direction) for p in placed.components.plans), 0.0 * direction)
    np.testing.assert_allclose(change, expected.tangent(x[1])(direction), atol=1e-10)


def test_filled_in_counts_and_other_weights():
    case = make_case([2, 3, 4], 3, 30, missing=0.3, seed=1)
    placed = case.problem.on(Twin())
    expected = complete_counts(case.problem, case.theta)
    np.testing.assert_allclose(complete_counts(placed, case.theta), expected, atol=1e-11)
    x, (there_plan,) = safe_log(case.theta), placed.components.plans
    (here,) = case.problem.components.plans
    counts = np.arange(len(here.counts)) % 3 * 1.0
    result, expected = np.zeros((2, len(x)))
    log_lik = there_plan.weighted(counts).expect_one(x, result)
    assert log_lik == pytest.approx(here.weighted(counts).expect_one(x, expected), rel=1e-13)
    np.testing.assert_allclose(result, expected, atol=1e-12)


def test_fields_share_bytes_and_missing_values_are_values():
    rng = np.random.default_rng(0)
    fields = [Field(rng.integers(low, n, 50), n) for low, n in [(0, 1), (-1, 3), (0, 2), (0, 200)]]
    packed = pack(fields, np.ones(50), cells=2)
    assert packed.bytes.shape == (2, 50)  # 0 + 2 + 1 bits, and 8 of their own
    x = rng.standard_normal((206, 2))
    starts = [0, 1, 4, 6]
    expected = sum(
        np.where(f.values[:, None] >= 0, x[first + f.values], 0.0)
        for first, f in zip(starts, fields, strict=True)
    )
    np.testing.assert_allclose(TwinRows(packed).weights(x), expected, atol=1e-14)
    marked = TwinRows(packed).count(np.ones((50, 1)))[:, 0]
    values = [np.bincount(f.values[f.values >= 0], minlength=f.blocks) for f in fields]
    np.testing.assert_array_equal(marked, np.concatenate(values))


@pytest.mark.parametrize(("leaves", "states", "cells"), [(50, 4, 10), (64, 2, 32), (40, 20, 40)])
@pytest.mark.parametrize("tangent", [False, True])
def test_the_kernel_has_room_and_counts_every_block(leaves, states, cells, tangent):
    fields = [Field(np.arange(states), states) for _ in range(leaves)]
    packed = pack(fields, np.ones(states), cells)
    shape = shape_for(packed, 232448, tangent=tangent)  # bytes that a block of an H200 may have
    assert shape.passes * shape.warps * shape.tiles * TILE >= leaves * states
    assert shape.shared <= 232448
    assert shape.padded >= cells
    assert shape.padded % 4 == 2
    assert shape_for(packed, 1000, tangent=tangent) is None


@pytest.mark.slow
@there
def test_a_fit_on_a_device_is_the_fit():
    case = make_case([2, 3, 2, 4], 3, 400, missing=0.1, seed=2)
    here = learn(case.problem, Options(starts=8))
    learned = learn(case.problem, Options(starts=8, device=DeviceName.CUDA))
    assert isinstance(learned.problem.place.device, Twin)
    assert learned.log_lik == pytest.approx(here.log_lik, rel=1e-9)
    np.testing.assert_allclose(learned.model.theta, here.model.theta, atol=1e-6)
    again = pickle.loads(pickle.dumps(learned.problem))  # it travels without what the device holds
    (plan,) = again.components.plans
    assert "there" not in vars(plan)
    N = np.zeros(case.layout.size)
    log_lik = plan.expect_one(safe_log(learned.model.theta), N)
    assert log_lik == pytest.approx(learned.log_lik, rel=1e-12)


@pytest.mark.slow
@there
def test_functions_and_commands_take_it():
    table = lacunet.load_dataset("carcinoma")
    options = {"scores": "cs,bic", "quick": True, "starts": 8}
    here = lacunet.select(table, range(1, 4), **options)
    selection = lacunet.select(table, range(1, 4), device="cuda", **options)
    for score in ("cs", "bic"):
        values = here.values(score)
        assert selection.values(score) == pytest.approx(values, rel=1e-9)


def test_absent_names_are_refused():
    assert open_device(DeviceName.CPU) is None
    with pytest.raises(OptionError, match=r"device 'tpu' is not known\. Choose from cpu, cuda"):
        lacunet.fit(lacunet.load_dataset("carcinoma"), 2, device="tpu")
    with (
        patch.object(cuda, "require", side_effect=OptionError("needs cupy")),
        pytest.raises(OptionError, match="needs cupy"),
    ):
        lacunet.fit("no such file", 2, device="cuda")  # before data are read


@pytest.mark.parametrize(
    ("cupy", "words"),
    [
        (fake_cupy(count=0), "this machine has no such device. Use device='cpu'"),
        (fake_cupy(error="driver too old"), r"no device that CUDA can use \(driver too old\)"),
    ],
)
def test_no_device(cupy, words):
    with (
        patch.object(cuda, "require", lambda *_, **__: cupy),
        pytest.raises(OptionError, match=words),
    ):
        open_device(DeviceName.CUDA)


def test_a_device_that_is_too_small_is_refused_before_allocation():
    with patch.object(cuda, "require", lambda *_, **__: fake_cupy(free=3 * 10**8)):
        device = open_device(DeviceName.CUDA)  # a fake that cannot allocate
        again = pickle.loads(pickle.dumps(device))
    codes = np.zeros(10**6, dtype=np.int8)
    packed = pack([Field(codes, 2)] * 400, np.ones(len(codes)), cells=4)
    words = "a table of 1000000 distinct rows needs 0.1. GB of memory there, and 0.30 GB of 0.60"
    with pytest.raises(OptionError, match=words):
        again.hold(packed)
    wide = pack([Field(codes[:10], 2)], np.ones(10), cells=1000)
    with pytest.raises(OptionError, match="1000 classes are too many"):
        device.hold(wide)


@there
def test_classes_with_covariates_are_not_for_a_device():
    data = {"x": [0, 1] * 10, "y": [0, 0, 1, 1] * 5, "age": list(range(20))}
    with pytest.raises(OptionError, match="device='cuda' is not for classes with covariates"):
        lacunet.fit(data, 2, covariates=["age"], device="cuda")


def test_what_a_device_has_no_kernel_for():
    with pytest.raises(OptionError, match="takes columns of at most 256 states"):
        pack([Field(np.arange(300), 300)], np.ones(300), cells=2)
    with pytest.raises(OptionError, match="device='cuda' is for models in which each row leaves"):
        make(NETWORKS["chain"], 20, missing=0.3).problem.on(Twin())


def test_starts_race_in_step_and_end_where_they_did():
    case = make_case([2, 3, 2, 4], 3, 200, missing=0.1, seed=3)
    one, other = (Objective.build(p, Estimate.MAP) for p in (case.problem, case.problem.on(Twin())))
    here, there_too = (random_starts(objective, 6, seed=2) for objective in (one, other))
    here, there_too = race(one, here, 5), race(other, there_too, 5)
    for a, b in zip(here, there_too, strict=True):
        assert b.g == pytest.approx(a.g, rel=1e-12)
        np.testing.assert_allclose(b.theta, a.theta, atol=1e-10)
