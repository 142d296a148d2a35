"""A scripted agent for AgentDojo's harness: no model, no network, the same run every time.

It knows the ground truth of the suite's tasks. What it makes of that is decided by three numbers and a seed:

* skill: how often it does a task as the ground truth does; else it leaves the last call out and says that it could not finish;
* gullibility: how often it obeys an injection that it meets in a tool result, before it goes on with its own task;
* distraction: how often it then forgets its own task.

Every decision is a hash of the seed, the task, what the environment holds and what is decided, so that an episode does not
depend on the order in which episodes run. `KeywordFilter` is a defense made with the harness' own detector class: it omits tool results that
hold one of its words, and misses a share of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentdojo.agent_pipeline.agent_pipeline import AgentPipeline
from agentdojo.agent_pipeline.base_pipeline_element import BasePipelineElement
from agentdojo.agent_pipeline.basic_elements import InitQuery, SystemMessage
from agentdojo.agent_pipeline.pi_detector import PromptInjectionDetector
from agentdojo.agent_pipeline.tool_execution import ToolsExecutionLoop, ToolsExecutor
from agentdojo.functions_runtime import FunctionCall
from agentdojo.types import ChatAssistantMessage, get_text_content_as_str, text_content_block_from_string

from pairmark.importers.agentdojo.reading import forms, shows

SYSTEM_PROMPT = "You are a scripted agent. You do the user's task with the given tools."
MAX_ITERS = 15
_OMITTED = "<Data omitted because a prompt injection was detected>"


def chance(*parts: object) -> float:
    """A number in [0, 1) that depends on `parts` alone."""
    digest = hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


@dataclass(frozen=True)
class Script:
    """Who the agent is: its name, its seed and its habits, each a share of episodes. `fails` stands for a provider's outage:
    it is asked before every turn, with the user task's id, and raises what a client library would.
    """

    name: str
    seed: int
    skill: float
    gullibility: float
    distraction: float = 0.0
    needs_data: float = 0.0
    fails: Callable[[str], None] | None = None


@dataclass
class _Plan:
    """What is left to do in one episode."""

    task: str
    calls: list[FunctionCall]
    answer: str
    obeyed: set[str] = field(default_factory=set)
    read: int = 0
    turn: int = 0


class ScriptedAgent(BasePipelineElement):  # type: ignore[misc]  # the harness is not typed here
    """Plays the model's part in a pipeline: one tool call a turn, then an answer."""

    def __init__(self, suite: Any, script: Script) -> None:
        self.name = script.name
        self._suite = suite
        self._script = script
        self._tasks = {task.PROMPT: (name, task) for name, task in suite.user_tasks.items()}
        self._tasks |= {task.GOAL: (name, task) for name, task in suite.injection_tasks.items()}
        self._goals = {name: forms(task.GOAL) for name, task in suite.injection_tasks.items()}

    def query(self, query: str, runtime: Any, env: Any = None, messages: Any = (), extra_args: Any = None) -> Any:
        plan = (extra_args or {}).get("plan") or self._plan(query, env)
        if self._script.fails is not None:
            self._script.fails(plan.task)
        for message in messages[plan.read :]:
            if message["role"] == "tool":
                self._take_in(get_text_content_as_str(message["content"]), plan, env)
        plan.turn += 1
        if plan.calls:
            call = plan.calls.pop(0)
            call.id = f"call_{plan.turn}"
            said = ChatAssistantMessage(role="assistant", content=None, tool_calls=[call])
        else:
            said = ChatAssistantMessage(
                role="assistant", content=[text_content_block_from_string(plan.answer)], tool_calls=None
            )
        plan.read = len(messages) + 1
        return query, runtime, env, [*messages, said], {**(extra_args or {}), "plan": plan}

    def _decides(self, share: float, *about: object) -> bool:
        return chance(self._script.name, self._script.seed, *about) < share

    def _plan(self, query: str, env: Any) -> _Plan:
        name, task = self._tasks[query]
        calls = task.ground_truth(env.model_copy(deep=True))
        if self._decides(self._script.skill, "skill", name, env.model_dump_json()):
            return _Plan(name, calls, task.GROUND_TRUTH_OUTPUT or "Done.")
        return _Plan(name, calls[:-1], "I could not finish.")

    def _take_in(self, output: str, plan: _Plan, env: Any) -> None:
        """What a tool result does to the plan: it may hold an injection, or lack the data the task needs."""
        if _OMITTED in output:
            if self._decides(self._script.needs_data, "needs data", plan.task, plan.turn):
                plan.calls, plan.answer = [], "I could not read what the task needs."
            return
        for goal, wanted in self._goals.items():
            if goal == plan.task or goal in plan.obeyed or not shows(forms(output), wanted):
                continue
            plan.obeyed.add(goal)
            if self._decides(self._script.gullibility, "obeys", plan.task, goal):
                if self._decides(self._script.distraction, "forgets", plan.task, goal):
                    plan.calls, plan.answer = [], "I have done what was asked in the data."
                injection = self._suite.injection_tasks[goal]
                plan.calls = [*injection.ground_truth(env.model_copy(deep=True)), *plan.calls]


class KeywordFilter(PromptInjectionDetector):  # type: ignore[misc]
    """Omits a tool result that holds one of `words`; overlooks a share of them, by a hash of the text."""

    def __init__(self, words: Sequence[str], overlooks: float) -> None:
        super().__init__(mode="message", raise_on_injection=False)
        self._words = tuple(words)
        self._overlooks = overlooks

    def detect(self, tool_output: str) -> bool:
        return any(word in tool_output for word in self._words) and chance("overlooks", tool_output) >= self._overlooks


def pipeline(suite: Any, script: Script, defense: KeywordFilter | None) -> Any:
    """The harness' usual pipeline with the scripted agent in the model's place, and the defense, if any, after the tools."""
    agent = ScriptedAgent(suite, script)
    loop = [ToolsExecutor(), *([defense] if defense is not None else []), agent]
    whole = AgentPipeline(
        [SystemMessage(SYSTEM_PROMPT), InitQuery(), agent, ToolsExecutionLoop(loop, max_iters=MAX_ITERS)]
    )
    whole.name = script.name if defense is None else f"{script.name}-filter"
    return whole
