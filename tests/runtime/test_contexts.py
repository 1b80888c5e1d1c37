"""Threads, tasks, nested and crossing blocks, generators: which mode applies where."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import multiprocessing
import threading
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, cast

import pytest
import torch

import namecheck
from namecheck.runtime import InstallError, NameMismatch, Record, runtime, shim
from namecheck.runtime.core.patch_table import TABLE
from tests.runtime.tensors import named, names

T = TypeVar("T")


@pytest.fixture(scope="module", autouse=True)
def patched() -> Iterator[None]:
    """The patches stay installed: installing them costs more than all of the tests."""
    context = contextvars.Context()
    block = runtime()
    context.run(block.__enter__)
    yield
    context.run(block.__exit__, None, None, None)


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    """Every test restores the initial state: one holder of the patches, and no mode."""
    assert (TABLE.holders, TABLE.installed, raises()) == (1, False, False)
    yield
    gc.collect()
    assert (TABLE.holders, TABLE.installed, raises()) == (1, False, False)


def raises() -> bool:
    """Whether a contradiction raises here."""
    try:
        contradict()
    except NameMismatch:
        return True
    return False


def contradict() -> torch.Tensor:
    return named("N", sizes=(2,)) + named("C", sizes=(2,))


def found(record: Record) -> int:
    """The number of contradictions in a record."""
    return sum(tally.count for tally in record.tallies.values())


def in_thread(work: Callable[[], T]) -> T:
    """The result of a function in a new thread."""
    results: list[T] = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    thread.join()
    return results[0]


# Blocks


def test_outside_of_all_blocks_the_api_is_there_and_nothing_is_told() -> None:
    assert names(contradict()) == (None,)


def test_a_block_is_in_force_until_it_is_left() -> None:
    with runtime():
        assert raises()
    assert not raises()


@pytest.mark.parametrize("outer", ["error", "record"])
def test_the_innermost_of_nested_blocks_is_in_force(outer: Any) -> None:
    with runtime(outer):
        with runtime("record" if outer == "error" else "error"):
            assert raises() is (outer == "record")
        assert raises() is (outer == "error")


def test_each_block_has_a_record_of_its_own() -> None:
    with runtime("record") as outer:
        contradict()
        with runtime("record") as inner:
            contradict()
            contradict()
    assert (found(outer), found(inner)) == (1, 2)


def test_blocks_may_be_left_in_the_order_in_which_they_were_entered() -> None:
    first, second = runtime("error"), runtime("record")
    first.__enter__()
    record = second.__enter__()
    first.__exit__(None, None, None)
    assert not raises()
    assert found(record) == 1
    second.__exit__(None, None, None)


def test_an_exception_leaves_the_block() -> None:
    with pytest.raises(ZeroDivisionError), runtime():
        raise ZeroDivisionError
    with pytest.raises(NameMismatch), runtime():
        contradict()


def test_a_block_may_be_a_decorator() -> None:
    checked = runtime()(raises)
    assert checked()
    assert checked()
    assert not raises()


def test_a_tensor_keeps_its_names_when_the_block_is_left() -> None:
    with runtime():
        tensor = named("N", "C")
    with runtime():
        assert names(tensor) == ("N", "C")


@pytest.mark.parametrize("value", ["off", "0", "OFF", "false"])
def test_the_environment_switches_all_checks_off(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with runtime("record") as record:
        monkeypatch.setenv("NAMECHECK", value)
        assert names(contradict()) == (None,)
        with runtime("error"):
            assert not raises()
        monkeypatch.delenv("NAMECHECK")
        contradict()
    assert found(record) == 1


def test_a_mode_that_does_not_exist() -> None:
    with pytest.raises(ValueError, match="unknown mode 'off'; the modes are error, warn, record"):
        cast(Any, runtime)("off").__enter__()


# install and uninstall


def test_install_is_in_force_outside_of_all_blocks() -> None:
    namecheck.install()
    try:
        assert raises()
        with runtime("record"):
            assert not raises()
        assert raises()
    finally:
        namecheck.uninstall()


def test_install_in_a_block_outlives_it() -> None:
    with runtime("record"):
        namecheck.install()
        assert not raises()
    assert raises()
    namecheck.uninstall()


def test_uninstall_in_a_block_leaves_the_block_in_force() -> None:
    namecheck.install("record")
    with runtime():
        namecheck.uninstall()
        assert raises()
    assert not raises()


def test_install_twice_and_uninstall_without_install() -> None:
    namecheck.install("record")
    with pytest.raises(InstallError, match="is installed already"):
        namecheck.install()
    assert not raises()
    namecheck.uninstall()
    with pytest.raises(InstallError, match="there is nothing to uninstall"):
        namecheck.uninstall()


def test_a_semantics_that_does_not_exist() -> None:
    with pytest.raises(ValueError, match="is not a valid Semantics"):
        runtime(semantics="torch-1.0").__enter__()


def test_there_is_one_semantics_at_a_time() -> None:
    with pytest.raises(InstallError, match="installed with semantics='namecheck'; a process has"):
        namecheck.install(semantics="torch-2.12")
    with pytest.raises(InstallError, match=r"uninstall it before using 'torch-2\.12'"):
        runtime(semantics="torch-2.12").__enter__()


# Threads


def test_a_thread_does_not_see_the_block_that_started_it() -> None:
    with runtime():
        assert not in_thread(raises)


def test_a_thread_sees_what_is_installed() -> None:
    namecheck.install()
    try:
        with runtime("record"):
            assert in_thread(raises)
    finally:
        namecheck.uninstall()


def test_the_block_of_a_thread_is_its_own() -> None:
    entered, left = threading.Event(), threading.Event()

    def work() -> bool:
        with runtime():
            entered.set()
            left.wait(60)
            return raises()

    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(work)
        entered.wait(60)
        assert not raises()
        left.set()
        assert result.result(60)


def test_the_patches_stay_until_the_last_thread_has_left() -> None:
    held, leave = threading.Event(), threading.Event()

    def work() -> None:
        with runtime():
            held.set()
            leave.wait(60)

    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(work)
        held.wait(60)
        assert TABLE.holders == 2
        leave.set()
        result.result(60)
    assert TABLE.holders == 1


def test_a_record_takes_what_many_threads_find() -> None:
    def work(_: int) -> None:
        with runtime("record") as own:
            contradict()
        for tally in own.tallies.values():
            shared.add(tally.finding)

    shared = Record()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(20)))
    assert (len(shared.findings), found(shared)) == (1, 20)


def enter_and_leave() -> None:
    """The code that a forked process runs."""
    with runtime():
        assert raises()


def test_a_process_forked_while_a_thread_is_at_work_on_the_patches() -> None:
    at_work = threading.Event()

    def work() -> None:
        with TABLE.lock:
            at_work.set()
            time.sleep(0.2)

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(work)
        at_work.wait(60)
        process = multiprocessing.get_context("fork").Process(target=enter_and_leave)
        process.start()
        process.join(30)
        done.result(60)
    code = process.exitcode
    if code is None:
        process.kill()
    assert code == 0


# Tasks


def test_a_task_has_the_block_in_which_it_was_made() -> None:
    async def main() -> tuple[bool, bool, bool]:
        with runtime():
            made = asyncio.create_task(asyncio.sleep(0, result=None))
            inside = asyncio.create_task(later())
            await made
            there = await inside
        outside = await asyncio.create_task(later())
        return there, outside, raises()

    async def later() -> bool:
        await asyncio.sleep(0)
        return raises()

    assert asyncio.run(main()) == (True, False, False)


def test_work_that_a_task_gives_to_a_thread_has_the_tasks_block() -> None:
    async def main() -> bool:
        with runtime():
            return await asyncio.to_thread(raises)

    assert asyncio.run(main())


def test_a_block_that_was_left_is_over_for_the_tasks_made_in_it() -> None:
    async def main() -> bool:
        with runtime():
            task = asyncio.create_task(later())
        return await task

    async def later() -> bool:
        await asyncio.sleep(0)
        return raises()

    assert not asyncio.run(main())


def test_tasks_do_not_see_each_others_blocks() -> None:
    async def one(barrier: asyncio.Barrier) -> bool:
        with runtime():
            await barrier.wait()
            return raises()

    async def other(barrier: asyncio.Barrier) -> bool:
        await barrier.wait()
        return raises()

    async def main() -> tuple[bool, bool]:
        barrier = asyncio.Barrier(2)
        there, here = await asyncio.gather(one(barrier), other(barrier))
        return there, here

    assert asyncio.run(main()) == (True, False)


def test_an_async_generator_that_is_closed_leaves_its_block() -> None:
    async def steps() -> AsyncIterator[bool]:
        with runtime():
            yield raises()
            yield raises()

    async def main() -> tuple[bool, bool]:
        generator = steps()
        first = await anext(generator)
        await cast(Any, generator).aclose()
        return first, raises()

    assert asyncio.run(main()) == (True, False)


# Generators


def steps() -> Generator[bool, None, None]:
    """Two steps in one block."""
    with runtime():
        yield raises()
        yield raises()


def test_a_generator_leaves_its_mode_in_force_while_it_waits() -> None:
    generator = steps()
    assert next(generator)
    assert raises()
    assert list(generator) == [True]
    assert not raises()


def test_a_generator_that_is_closed_leaves_its_block() -> None:
    generator = steps()
    next(generator)
    generator.close()
    assert not raises()


def test_a_generator_that_nobody_has_any_more_leaves_its_block() -> None:
    generator = steps()
    next(generator)
    del generator
    gc.collect()
    assert not raises()
    assert TABLE.holders == 1


def test_a_generator_that_ends_in_another_thread_leaves_its_block() -> None:
    generator = steps()
    assert next(generator)
    in_thread(generator.close)
    assert not raises()


def test_a_generator_that_goes_on_in_another_thread_has_that_threads_mode() -> None:
    generator = steps()
    assert next(generator)
    assert not in_thread(lambda: next(generator))
    generator.close()


def test_generators_that_end_in_another_order() -> None:
    first, second = steps(), steps()
    next(first)
    next(second)
    first.close()
    assert raises()
    second.close()
    assert not raises()


def test_a_generator_that_outlives_the_block_around_it() -> None:
    with runtime("record"):
        generator = steps()
        next(generator)
        assert raises()
    assert raises()
    generator.close()


def test_a_program_that_is_run_may_install_by_itself() -> None:
    original = torch.relu
    assert shim.host("record")
    namecheck.install()
    with pytest.raises(InstallError):
        namecheck.install()
    x: Any = named("N", "C")
    x + x.rename("C", "N")  # recorded: the mode is that of the run
    namecheck.uninstall()
    assert namecheck.installed()
    assert names(x) == ("N", "C")
    shim.dismiss()
    assert not namecheck.installed()
    assert torch.relu is original
