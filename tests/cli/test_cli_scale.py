"""What work would take, limits of memory, and clusters, as commands say them."""

import pytest

CARCINOMA = ("--weights", "count")


@pytest.mark.parametrize(
    ("command", "candidates"),
    [
        (("fit", "--states", 2), [2]),
        (("select", "--states", "1:3"), [1, 2, 3]),
        (("evidence", "--states", 2), [2]),
        (("fit", "--network", "class[2] -> A B C D E F G"), ["network"]),
    ],
)
def test_a_dry_run_reports_costs_and_fits_nothing(invoke, carcinoma, tmp_path, command, candidates):
    name, *options = command
    document = invoke(name, carcinoma, *options, *CARCINOMA, "--dry-run", "--json").json
    assert document["dry_run"] is True
    assert (document["rows"], document["distinct_rows"], document["columns"]) == (20, 20, 7)
    assert [fit["candidate"] for fit in document["fits"]] == candidates
    assert (document["sampling_at_most"] is None) == (name == "fit")
    assert document["memory"] > document["table_bytes"] == 20 * (7 + 8)
    assert "log_likelihood" not in document


def test_structures_have_a_dry_run_too(invoke, carcinoma):
    graphs = ("class[2] -> A B C D E F G", "A -> B C D E F G")
    ran = invoke("compare", carcinoma, *graphs, *CARCINOMA, "--dry-run")
    assert "Nothing was fitted." in ran.out
    assert all(graph in ran.out for graph in graphs)
    assert "times are estimates" in ran.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--memory", "much"), "--memory 'much' is not a size of memory. Give for example 500MB"),
        (("--memory", "10MB"), "--memory 10 MB is too little"),
        (("--workers", 0), "0 workers: there must be at least 1."),
        (("--workers", 1, "--cluster", "tcp://127.0.0.1:9"), "--workers starts one: give one."),
        (("--cluster", "tcp://127.0.0.1:9"), "tcp://127.0.0.1:9: no scheduler answers"),
        (("--cluster", "here"), "--cluster 'here' is not an address."),
    ],
)
def test_impossible_requests_get_a_sentence(invoke, carcinoma, options, message):
    ran = invoke("fit", carcinoma, "--states", 2, *CARCINOMA, *options)
    assert ran.code != 0
    assert message in ran.err


def test_a_limit_that_is_not_reached_changes_nothing(invoke, carcinoma):
    options = ("--states", 2, *CARCINOMA, "--starts", 2, "--json")
    plain, limited = (
        invoke("fit", carcinoma, *options, *more).json for more in ((), ("--memory", "2GB"))
    )
    assert plain["log_likelihood"] == limited["log_likelihood"]
