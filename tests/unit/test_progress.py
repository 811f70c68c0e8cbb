"""What a person sees on stderr: notes, and bars for what takes over a second."""

import io
import re
import threading
from contextlib import redirect_stderr
from types import SimpleNamespace

import pytest

from arcflux import trace
from arcflux.progress import Terminal, watching


class Screen(io.StringIO):
    """A terminal that keeps what is written to it."""

    def isatty(self):
        return True

    def plain(self):
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.getvalue())


@pytest.fixture
def screen(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "ARCFLUX_QUIET", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    return Screen()


@pytest.fixture
def later(monkeypatch):
    """``later(2)``: from now on it is two seconds later than it really is."""
    clock = trace.time.perf_counter

    def move(seconds):
        monkeypatch.setattr(trace, "time", SimpleNamespace(perf_counter=lambda: clock() + seconds))

    return move


def show(stderr, later, *, seconds, total=10, unit="edges", during=lambda terminal: None, **options):
    """A task that is half done after some seconds."""
    with redirect_stderr(stderr):
        terminal = Terminal(**options)
        with trace.listen(terminal), trace.task("reading [x]", total=total, unit=unit) as task:
            later(seconds)
            task.at(5)
            during(terminal)
        terminal.close()


def test_nothing_is_drawn_under_a_second(screen, later):
    show(screen, later, seconds=0.5)
    assert screen.getvalue() == ""


def test_a_bar_is_drawn_after_a_second_and_taken_away_at_the_end(screen, later):
    drawn = []
    show(screen, later, seconds=2, during=lambda terminal: (terminal._progress.refresh(), drawn.append(screen.plain())))
    assert "reading [x]" in drawn[0]
    assert "5 of 10 edges" in drawn[0]
    last_line = screen.getvalue().rpartition("\x1b[2K")[2]
    assert last_line.strip() == "\x1b[?25h", "the line is empty, and the cursor is back"


def test_bytes_are_shown_with_their_rate_and_an_unknown_total_is_not_made_up(screen, later):
    show(screen, later, seconds=2, total=4096, unit="bytes", during=lambda terminal: terminal._progress.refresh())
    assert "5 bytes of 4.0 KiB, 0 bytes/s" in screen.plain()
    show(screen, later, seconds=4, total=0, during=lambda terminal: terminal._progress.refresh())
    assert "5 edges" in screen.plain()
    assert "of 0" not in screen.plain()
    assert "5 edges 4 s" in screen.plain(), "the time that went by, since nobody knows the end"


def test_results_stay_on_stdout_while_a_bar_is_drawn(screen, later, capsys):
    show(screen, later, seconds=2, during=lambda terminal: print("result"))
    assert "reading" in screen.plain()
    assert capsys.readouterr().out == "result\n"


def test_bars_are_gone_when_the_last_task_ends(screen, later):
    with redirect_stderr(screen):
        terminal = Terminal()
        with trace.listen(terminal):
            with trace.task("one", total=3) as task:
                later(2)
                task.at(1)
                assert terminal._progress is not None
            assert terminal._progress is None
            with trace.task("two", total=3) as task:
                later(9)
                task.at(1)
            assert "two" in screen.plain()


def test_without_a_terminal_there_are_no_bars(later):
    file = io.StringIO()
    show(file, later, seconds=2)
    assert file.getvalue() == ""


def test_bars_can_be_refused_and_all_of_it_silenced(screen, later):
    show(screen, later, seconds=2, bars=False)
    show(screen, later, seconds=2, bars=True, quiet=True, during=lambda terminal: trace.note("hush"))
    assert screen.getvalue() == ""


def coloured(text):
    return re.search(r"\x1b\[(?:[0-9;]*;)?(?:3[0-8]|9[0-7])", text) is not None


def test_colours_are_left_out_on_request(screen, later, monkeypatch):
    show(screen, later, seconds=2)
    assert coloured(screen.getvalue())
    monkeypatch.setenv("NO_COLOR", "1")
    black_and_white = Screen()
    show(black_and_white, later, seconds=4)
    assert "reading" in black_and_white.plain()
    assert not coloured(black_and_white.getvalue())


def test_notes_go_to_stderr_alone(capsys):
    with trace.listen(Terminal()):
        trace.note("[bold]one[/bold] thing")
    assert capsys.readouterr() == ("", "arcflux: [bold]one[/bold] thing\n")


def test_notes_are_printed_above_a_bar(screen, later, capsys):
    show(screen, later, seconds=2, during=lambda terminal: trace.note("[bold]one[/bold] thing"))
    assert "arcflux: [bold]one[/bold] thing\n" in screen.plain()
    assert capsys.readouterr().out == ""


def test_a_task_that_ends_after_the_bars_are_gone_does_no_harm(screen, later):
    show(screen, later, seconds=2, during=Terminal.close)
    assert "reading" in screen.plain()


def test_watching_shows_notes_and_stops_at_the_end(capsys, monkeypatch):
    monkeypatch.delenv("ARCFLUX_QUIET", raising=False)
    with watching():
        trace.note("inside")
    trace.note("outside")
    assert capsys.readouterr() == ("", "arcflux: inside\n")
    assert not trace.has_listeners()


def test_watching_leaves_other_listeners_and_the_quiet_alone(capsys, monkeypatch):
    heard = []
    with trace.listen(heard.append), watching():
        trace.note("heard")
    monkeypatch.setenv("ARCFLUX_QUIET", "1")
    with watching():
        trace.note("quiet")
    assert heard == [trace.Note("heard")]
    assert capsys.readouterr() == ("", "")


def test_other_threads_are_not_watched(capsys, monkeypatch):
    monkeypatch.delenv("ARCFLUX_QUIET", raising=False)

    def work():
        with watching():
            trace.note("from a thread")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert capsys.readouterr() == ("", "")
