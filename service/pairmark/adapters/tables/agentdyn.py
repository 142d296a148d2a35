"""AgentDyn's table of episodes: one row per run file of AgentDojo's format, by pipeline directory."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from pairmark.adapters.tables.reading import only_flags, read_table
from pairmark.app.aggregates_from_episodes import TABLE_SCHEMA, RunFacts, Told

SUITES = ("shopping", "github", "dailylife")
"""AgentDyn's own suites. Rows of others are AgentDojo's, left by other runs in one directory, and are left out."""

DEFENSES = (
    "drift", "piguard_detector", "progent", "prompt_guard_2_detector", "repeat_user_prompt", "spotlighting_with_delimiting",
    "tool_filter", "transformers_pi_detector", "camel",
)  # fmt: skip
"""The endings of directory names that name a defense: `<model>[-<defense>]`. The directory, not the name inside a file, is the run."""

FLAGS = ("utility", "security", "injection_text_seen")

ARMS = ("benign", "attacked")
"""The third, `injection_task_as_user_task`, is no episode of a pair."""

COLUMNS = (
    "pipeline_dir", "suite", "user_task_id", "injection_task_id", "attack_type", "arm", "utility", "security", "error",
    "injection_text_seen", "agentdojo_package_version",
)  # fmt: skip


def read_agentdyn(path: Path) -> Told:
    """Episodes and runs. Attack success is the file's `security` on attacked files only: on benign ones it is a default.

    A file without `utility` is of a killed run, one with an error of a failed provider; neither has an outcome. What the
    directories do not say (decoding, served model, tools, prompt, limits) stays unrecorded.

    Raises:
        Malformed: not such a table.
    """
    table = read_table(path, COLUMNS)
    for name in FLAGS:
        only_flags(table, name, path)
    rows = table.filter(pl.col("suite").is_in(SUITES), pl.col("arm").is_in(ARMS))
    attacked = pl.col("arm") == "attacked"
    failed, killed = pl.col("error").is_not_null(), pl.col("utility").is_null()
    outcome = {"true": True, "false": False}

    def flag(name: str) -> pl.Expr:
        return pl.col(name).replace_strict(outcome, return_dtype=pl.Boolean)

    frame = rows.select(
        pl.col("pipeline_dir").alias("run"),
        pl.when(attacked).then(pl.col("attack_type")).alias("attack"),
        pl.col("suite").alias("group"),
        pl.concat_str("suite", pl.lit("/"), "user_task_id").alias("task_id"),
        pl.when(attacked).then(pl.concat_str("suite", pl.lit("/"), "injection_task_id")).alias("injection_id"),
        pl.when(failed).then(pl.lit("infra_error")).when(killed).then(pl.lit("cancelled")).otherwise(pl.lit("completed")).alias("status"),
        pl.when(~failed).then(flag("utility")).alias("utility"),
        pl.when(attacked & ~failed & ~killed).then(flag("security")).alias("attack_success"),
        pl.when(attacked & ~failed & ~killed).then(flag("injection_text_seen")).alias("delivered"),
    ).cast(pl.Schema(TABLE_SCHEMA))
    names = table["pipeline_dir"].unique().to_list()  # also those whose rows are all left out
    versions = dict(table.group_by("pipeline_dir").agg(pl.col("agentdojo_package_version").drop_nulls().unique()).iter_rows())
    return Told(frame, {name: _facts(name, names, versions[name]) for name in names}, SOURCE)


SOURCE = {
    "title": "AgentDyn runs, table of episodes",
    "reference": "https://github.com/SaFo-Lab/AgentDyn, arXiv 2602.03117",
    "license": "MIT",
}


def _facts(name: str, names: list[str], versions: list[str]) -> RunFacts:
    defense = next((ending for ending in DEFENSES if name.endswith(f"-{ending}")), None)
    model = name if defense is None else name.removesuffix(f"-{defense}")
    return RunFacts(
        system={
            "model": {"requested": model, "served": None, "provider": None},
            "decoding": None, "tools_digest": None, "system_prompt_digest": None, "scaffold": None,
            "defenses": [] if defense is None else [{"name": defense, "version": None, "changes": []}],
            "limits": None,
        },
        harness={
            "name": "agentdojo", "version": versions[0] if len(versions) == 1 else None, "commit": None, "image": None,
        },
        baseline=model if defense is not None and model in names else None,
    )  # fmt: skip
