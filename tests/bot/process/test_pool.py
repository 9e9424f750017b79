"""The bot's own work has its threads from the start."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from bot.cli.app import main
from bot.process.pool import NO_THREAD, THREADS_OF, going_on, run, started_pool


async def test_our_own_work_is_done_where_no_thread_can_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asyncio.get_running_loop().set_default_executor(started_pool())
    together = threading.Barrier(4)

    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refused)
        met = await asyncio.gather(*(asyncio.to_thread(together.wait, 20) for _ in range(4)))

    assert sorted(met) == [0, 1, 2, 3]


def test_a_command_for_which_no_thread_starts_says_which_limit_to_raise(
    write_config: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    config = write_config()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refused)
        words = ["--config", str(config), "propose", str(config), "--as", "leila"]
        patch.setattr(sys, "argv", ["signoff", *words])
        patch.setattr(sys, "stdout", sys.stdout)
        patch.setattr(sys, "stderr", sys.stderr)
        with pytest.raises(SystemExit) as end:
            main()

    assert end.value.code == 1
    assert "This machine starts no more threads for Signoff" in capsys.readouterr().err


@pytest.fixture
def no_thread_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no thread start any more once asyncio has one for the end of its pool."""
    start = threading.Thread.start

    def refused_at_the_end(thread: threading.Thread) -> None:
        if getattr(getattr(thread, "_target", None), "__name__", "") == "_do_shutdown":
            raise RuntimeError(NO_THREAD)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refused_at_the_end)


@pytest.mark.usefixtures("no_thread_at_the_end")
def test_what_was_done_is_told_as_done_where_no_thread_starts_at_the_very_end(
    write_config: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    root: Path,
) -> None:
    config, mail = str(write_config()), str(root / "examples/mail.json")
    monkeypatch.setattr(
        sys, "argv", ["signoff", "--config", config, "propose", mail, "--as", "leila"]
    )
    for stream in ("stdout", "stderr"):
        monkeypatch.setattr(sys, stream, getattr(sys, stream))
    with pytest.raises(SystemExit):
        main()

    assert '"proposal_id"' in capsys.readouterr().out


@pytest.mark.usefixtures("no_thread_at_the_end")
def test_an_error_is_told_as_what_it_is_where_no_thread_starts_at_the_very_end() -> None:
    async def failing() -> None:
        await asyncio.to_thread(int)
        raise ValueError("what was wrong")

    with pytest.raises(ValueError, match="what was wrong"):
        run(failing())


@pytest.mark.usefixtures("no_thread_at_the_end")
def test_what_ctrl_c_ends_is_told_as_stopped_where_no_thread_starts_at_the_very_end() -> None:
    async def waiting() -> None:
        await asyncio.to_thread(int)
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.Event().wait()

    with pytest.raises(KeyboardInterrupt):
        run(waiting())


async def going_on_for_ever() -> None:
    while True:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()


def test_what_does_not_end_when_it_is_told_to_holds_up_no_end() -> None:
    """A tool of the operator's that polls in a task of its own, and lets nothing stop it."""

    async def working() -> str:
        asyncio.get_running_loop().create_task(going_on_for_ever())
        await asyncio.sleep(0)
        return "done"

    assert run(working()) == "done"


async def waiting_for_a_pool() -> int:
    return await asyncio.to_thread(int)


def test_a_loop_that_lacks_a_thread_for_its_work_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: threading.Thread) -> None:
        raise RuntimeError(NO_THREAD)

    monkeypatch.setattr(threading.Thread, "start", refused)
    with pytest.raises(RuntimeError, match=NO_THREAD):
        run(waiting_for_a_pool())


async def ending(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_what_would_end_the_program_is_heard_by_whoever_waits_for_it(error: BaseException) -> None:
    """asyncio.wait_for makes a task of what it waits for, and asyncio lets that through."""

    async def working() -> str:
        with going_on():
            with pytest.raises(type(error)):
                await asyncio.create_task(ending(error))
            asyncio.get_running_loop().call_soon(sys.exit, 3)
            await asyncio.sleep(0)
        return "done"

    assert run(working()) == "done"


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_what_ends_the_program_ends_a_loop_that_is_not_told_to_go_on(error: BaseException) -> None:
    async def working() -> None:
        with going_on():
            await asyncio.sleep(0)
        await asyncio.create_task(ending(error))

    with pytest.raises(type(error)):
        run(working())


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_a_loop_goes_on_for_nothing_once_its_work_has_ended(error: BaseException) -> None:
    async def working() -> None:
        with going_on():
            raise error

    with pytest.raises(type(error)):
        run(working())


def test_a_loop_stops_although_something_would_end_the_program_just_then() -> None:
    goes_on = going_on()

    async def working() -> str:
        goes_on.__enter__()
        this = asyncio.current_task()
        assert this is not None
        this.add_done_callback(lambda _: sys.exit(3))
        return "done"

    assert run(working()) == "done"


def test_a_thread_that_others_began_stops_no_loop() -> None:
    """It has no context of theirs: so the bot ended, in the middle of calls."""

    async def working() -> str:
        loop = asyncio.get_running_loop()
        with going_on():
            stops = threading.Thread(target=loop.call_soon_threadsafe, args=(loop.stop,))
            stops.start()
            stops.join()
            await asyncio.to_thread(int)
        return "done"

    assert run(working()) == "done"


def test_who_asks_the_loop_that_runs_to_run_something_has_it_neither_done_nor_stopped() -> None:
    """A tool was refused that, acted all the same, and could then end the bot."""
    acts = list[int]()

    async def acting() -> None:
        acts.append(1)

    async def working() -> str:
        loop, act = asyncio.get_running_loop(), acting()
        with going_on():
            with pytest.raises(RuntimeError):
                loop.run_until_complete(act)
            act.close()
            await asyncio.sleep(0)
            loop.call_soon(loop.stop)
            await asyncio.to_thread(int)
        return "done"

    assert (run(working()), acts) == ("done", [])


def test_what_others_wrote_takes_nothing_of_our_loop() -> None:
    """One that gave it a pool of its own, or heard SIGTERM there, kept the bot from its end."""
    heard = list[str]()

    async def takes() -> None:
        loop, theirs = asyncio.get_running_loop(), ThreadPoolExecutor(1)
        THREADS_OF.set(theirs)
        loop.set_default_executor(theirs)
        loop.add_signal_handler(signal.SIGTERM, heard.append, "theirs")
        loop.remove_signal_handler(signal.SIGTERM)
        await loop.shutdown_default_executor()
        loop.stop()

    async def working() -> str:
        loop, told = asyncio.get_running_loop(), asyncio.Event()
        loop.add_signal_handler(signal.SIGTERM, told.set)
        with going_on():
            await asyncio.create_task(takes())
        os.kill(os.getpid(), signal.SIGTERM)
        await told.wait()
        return await asyncio.to_thread(lambda: threading.current_thread().name)

    assert run(working()).startswith("signoff-own")
    assert not heard
