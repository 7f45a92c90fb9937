"""Agents: who is called when, and what becomes of errors."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import pytest

from aeronpy.agent import (
    AgentInvoker,
    AgentRunner,
    AgentTermination,
    CompositeAgent,
    DynamicCompositeAgent,
    IdleStrategy,
)
from aeronpy.errors import ArgumentError, StateError

DEADLINE_S = 20.0


@dataclass
class Scripted:
    """An agent that does as told: an int is work done, an exception is raised; after the script there is no work."""

    role_name: str = "scripted"
    script: list[int | Exception] = field(default_factory=list)
    on_start_error: Exception | None = None
    on_close_error: Exception | None = None
    called: list[str] = field(default_factory=list)
    cycles: int = 0
    done: threading.Event = field(default_factory=threading.Event)

    def on_start(self) -> None:
        self.called.append("start")
        if self.on_start_error:
            raise self.on_start_error

    def do_work(self) -> int:
        self.cycles += 1
        if not self.script:
            self.done.set()
            return 0
        step = self.script.pop(0)
        if isinstance(step, Exception):
            raise step
        return step

    def on_close(self) -> None:
        self.called.append("close")
        if self.on_close_error:
            raise self.on_close_error


@dataclass
class Count:
    value: int = 0

    def increment(self) -> int:
        self.value += 1
        return self.value


def test_an_invoker_works_between_start_and_close_only() -> None:
    agent = Scripted(script=[3])
    invoker = AgentInvoker(agent)
    assert (invoker.invoke(), invoker.is_running) == (0, False)
    invoker.start()
    invoker.start()
    assert [invoker.invoke(), invoker.invoke(), invoker.is_running] == [3, 0, True]
    invoker.close()
    invoker.close()
    assert (invoker.invoke(), invoker.is_closed) == (0, True)
    assert agent.called == ["start", "close"]


def test_an_invokers_errors_are_counted_and_handed_on_and_it_goes_on() -> None:
    heard: list[Exception] = []
    count = Count()
    invoker = AgentInvoker(Scripted(script=[ValueError("a"), 2]), heard.append, count)
    invoker.start()
    assert [invoker.invoke(), invoker.invoke()] == [0, 2]
    assert ([str(error) for error in heard], count.value) == (["a"], 1)


def test_an_agent_that_asks_for_its_end_is_closed_and_not_counted() -> None:
    heard: list[Exception] = []
    count = Count()
    agent = Scripted(script=[AgentTermination("enough"), 5])
    invoker = AgentInvoker(agent, heard.append, count)
    invoker.start()
    assert (invoker.invoke(), invoker.invoke(), invoker.is_closed) == (0, 0, True)
    assert (agent.called, len(heard), count.value) == (["start", "close"], 1, 0)


def test_an_agent_that_fails_to_start_is_closed() -> None:
    heard: list[Exception] = []
    agent = Scripted(on_start_error=OSError("no"), on_close_error=OSError("again"))
    invoker = AgentInvoker(agent, heard.append)
    invoker.start()
    assert (invoker.is_closed, [str(error) for error in heard]) == (True, ["no", "again"])


def test_a_runner_works_on_a_thread_of_its_own_named_after_the_agent() -> None:
    heard: list[Exception] = []
    agent = Scripted("worker", script=[1, KeyError("x"), 1])
    runner = AgentRunner(agent, IdleStrategy("sleep-ns", "100us"), heard.append)
    thread = runner.start()
    assert thread.name == "worker"
    assert agent.done.wait(DEADLINE_S)
    runner.close()
    runner.close()
    assert not thread.is_alive()
    assert (agent.called, len(heard), runner.is_closed) == (["start", "close"], 1, True)
    with pytest.raises(StateError, match="worker"):
        runner.start()


def test_a_runner_ends_by_itself_when_its_agent_asks_or_cannot_start() -> None:
    for agent in (Scripted(script=[AgentTermination("enough")]), Scripted(on_start_error=OSError("no"))):
        heard: list[Exception] = []
        runner = AgentRunner(agent, None, heard.append)
        runner.start().join(DEADLINE_S)
        assert runner.is_closed
        assert (agent.called, len(heard)) == (["start", "close"], 1)


def test_closing_a_runner_says_so_again_and_again_while_its_agent_is_stuck() -> None:
    free, stuck = threading.Event(), threading.Event()
    told: list[threading.Thread] = []

    class Stuck(Scripted):
        def do_work(self) -> int:
            stuck.set()
            free.wait(DEADLINE_S)
            return 0

    runner = AgentRunner(Stuck())
    thread = runner.start()
    assert stuck.wait(DEADLINE_S)

    def on_fail(failed: threading.Thread) -> None:
        told.append(failed)
        if len(told) == 2:
            free.set()

    runner.close(0.02, on_fail)
    assert told[:2] == [thread, thread]
    assert not thread.is_alive()


def test_a_runner_may_be_closed_before_it_starts_and_from_its_own_thread() -> None:
    agent = Scripted()
    AgentRunner(agent).close()
    assert agent.called == ["close"]

    class Closing(Scripted):
        def do_work(self) -> int:
            runner.close()
            return 1

    closing = Closing()
    runner = AgentRunner(closing)
    runner.start().join(DEADLINE_S)
    assert closing.called == ["start", "close"]


def test_a_composite_goes_on_behind_the_agent_that_raised() -> None:
    first, second, third = Scripted("a", [1, 10]), Scripted("b", [ValueError("b")]), Scripted("c", [100, 1000])
    composite = CompositeAgent(first, second, third)
    assert composite.role_name == "[a, b, c]"
    composite.on_start()
    with pytest.raises(ValueError, match="b"):
        composite.do_work()
    assert composite.do_work() == 100  # only the third one's turn was left
    assert composite.do_work() == 1010
    composite.on_close()
    assert [agent.called for agent in (first, second, third)] == [["start", "close"]] * 3
    with pytest.raises(ArgumentError):
        CompositeAgent()


def test_a_composite_starts_and_closes_all_and_collects_what_they_raise() -> None:
    agents = [
        Scripted("a", on_start_error=OSError("1"), on_close_error=OSError("3")),
        Scripted("b", on_start_error=OSError("2")),
        Scripted("c"),
    ]
    composite = CompositeAgent(*agents)
    with pytest.raises(ExceptionGroup, match="2 agents failed in on_start") as caught:
        composite.on_start()
    assert [str(error) for error in caught.value.exceptions] == ["1", "2"]
    with pytest.raises(OSError, match="3"):
        composite.on_close()
    assert [agent.called for agent in agents] == [["start", "close"]] * 3


def test_agents_come_and_go_one_at_a_time_in_a_dynamic_composite() -> None:
    first, second, third = Scripted("a", [1] * 9), Scripted("b", [10] * 9), Scripted("c", [100] * 9)
    composite = DynamicCompositeAgent("all", first)
    assert composite.status is DynamicCompositeAgent.Status.INIT
    with pytest.raises(StateError, match="INIT"):
        composite.try_add(second)
    composite.on_start()

    assert composite.try_add(second)
    assert not composite.try_add(third)
    assert not composite.has_add_agent_completed
    assert composite.do_work() == 11
    assert composite.has_add_agent_completed
    assert composite.try_remove(first)
    assert not composite.try_remove(second)
    assert composite.do_work() == 10
    assert (composite.has_remove_agent_completed, first.called) == (True, ["start", "close"])
    assert composite.try_remove(third)  # one that takes no part
    assert composite.do_work() == 10
    assert third.called == []
    composite.on_close()
    assert (second.called, composite.status) == (["start", "close"], DynamicCompositeAgent.Status.CLOSED)
    with pytest.raises(StateError, match="CLOSED"):
        composite.try_remove(second)


def test_an_agent_that_fails_to_start_does_not_join_a_dynamic_composite() -> None:
    failing = Scripted("a", on_start_error=OSError("no"))
    composite = DynamicCompositeAgent("all")
    composite.on_start()
    composite.try_add(failing)
    with pytest.raises(OSError, match="no"):
        composite.do_work()
    assert (composite.agents, failing.called, composite.has_add_agent_completed) == ((), ["start", "close"], True)
    assert composite.do_work() == 0


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("noop", ""), ("spin", ""), ("yield", ""), ("sleeping", ""), ("sleep-ns", "1us"), ("backoff", "1-2-1us-1ms")],
)
def test_idle_strategies_have_the_fields_names(name: str, arguments: str) -> None:
    idle = IdleStrategy(name, arguments)
    idle.idle(1)
    for _ in range(10):
        idle.idle(0)
    idle.reset()
    assert (idle.name, idle.arguments) == (name, arguments)


@pytest.mark.parametrize(("name", "arguments"), [("backof", ""), ("backoff", "1-2"), ("noop", "1"), ("sleep-ns", "x")])
def test_what_is_no_idle_strategy_is_refused(name: str, arguments: str) -> None:
    with pytest.raises(ArgumentError, match=arguments or name):
        IdleStrategy(name, arguments)
