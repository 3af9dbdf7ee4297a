"""Every recorded run, by its name. To add one: a function of nothing, and its line here.

Runs use the public interface only, and are seeded; each gets an empty folder to work in.
"""

import contextlib
import tempfile
from collections.abc import Callable
from functools import partial

import by_command
import by_estimator
import by_evidence
import by_file
import by_function
import by_paper

Run = Callable[[], dict]

FUNCTIONS: tuple[Run, ...] = (
    by_function.fit_by_prior,
    by_function.fit_below_one,
    by_function.fit_weights,
    by_function.fit_two_hidden,
    by_function.fit_hidden_chain,
    by_function.fit_hidden_chain_fractional,
    by_function.fit_random_graphs,
    by_function.fit_nothing_hidden,
    by_function.alarm,
    by_function.select_every_score_with_holes,
    by_function.select_every_score_ml,
    by_function.select_network_every_score,
    by_function.select_by_schedule,
    by_function.compare_with_prior,
    by_function.compare_missing,
    by_function.missing_as_state,
    by_function.score_models,
    by_function.assign_and_query,
    by_function.intervals_of_classes,
    by_function.intervals_of_a_network,
    by_function.statistics,
    by_function.information_criteria,
    by_function.traces,
    by_function.likelihood_ratio_test,
    by_function.match_classes,
    by_function.learn_structure,
    by_function.draw,
    by_function.threads,
    by_function.texts,
    by_function.plots,
    by_evidence.classes_by_method,
    by_evidence.classes_with_holes,
    by_evidence.networks_by_method,
    by_evidence.chain_and_random_graph,
    by_evidence.bounds,
    by_evidence.selection_with_evidence,
    by_evidence.comparison_with_evidence,
    by_estimator.latent_class_model,
    by_estimator.latent_class_model_weighted,
    by_estimator.latent_class_model_of_an_array,
    by_estimator.latent_class_selector,
    by_estimator.latent_class_selector_weighted,
    by_estimator.bayesian_network_model,
    by_estimator.bayesian_network_model_given,
    by_file.networks_there_and_back,
    by_file.alarm_there_and_back,
    by_file.networks_of_other_packages,
    by_file.tables_from_everywhere,
    by_command.select_carcinoma,
    by_command.select_every_score,
    by_command.select_survey_ml,
    by_command.select_some_columns_and_markers,
    by_command.select_missing_as_state,
    by_command.select_with_prior_and_rank,
    by_command.select_network,
    by_command.select_two_hidden_in_every_combination,
    by_command.select_saved,
    by_command.select_report,
    by_command.select_network_report,
    by_command.select_with_evidence,
    by_command.select_calibrated,
    by_command.select_as_text,
    by_command.fit_described,
    by_command.fit_in_every_format,
    by_command.fit_bootstrap_like_another,
    by_command.fit_network_into_every_file,
    by_command.evidence_of_classes,
    by_command.evidence_of_a_network,
    by_command.score_at_and_after,
    by_command.assign_and_impute,
    by_command.assign_holes_as_answers,
    by_command.compare_structures,
    by_command.compare_structures_with_evidence,
    by_command.compare_missing_both_ways,
    by_command.learn_graphs,
    by_command.lrt,
    by_command.random_and_simulate,
    by_command.demo,
    by_command.refusals,
    by_paper.paper,
    by_paper.paper_against_evidence,
)


def _name(function: Run) -> str:
    """Where it is, and what it is called: the key of the recorded file."""
    module = function.__module__.removeprefix("by_")
    return f"{module}.{function.__name__}"


RUNS: dict[str, Run] = {_name(function): function for function in FUNCTIONS} | {
    f"function.fit_by_schedule.{schedule}": partial(by_function.fit_by_schedule, schedule)
    for schedule in by_function.SCHEDULES
}


def run(name: str) -> dict:
    """Do one run in a folder of its own, which is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return RUNS[name]()
