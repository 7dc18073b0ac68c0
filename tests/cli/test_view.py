"""`jsproto view` in a real browser: what the page shows, how it is steered, and that nothing in a
trace is more than text.
"""

import json
import re

import pytest

from jsproto.trace.show.view import Viewing
from jsproto_cli.main import main
from jsproto_cli.view import page
from tests.browser import browser, chromium
from tests.trace.plays import long_trace

#: What a page may weigh beside its data.
MOST_BESIDE = 150 * 1024
#: Seconds until a hundred thousand rows stand; the goal is 2, the bound is for a machine that
#: others use too.
GOAL, BOUND = 2.0, 10.0

EVIL = "</script><script>document.title='taken'</script><img/src=x/onerror=document.title='taken'>"
CUT = "{columns}{blocks}"
HOSTILE = rf"""#jsproto-trace/2
: scenario {EVIL}
: client <!--<script>{CUT}
= {EVIL} connected
< {EVIL} INFO {{"server_id":"N","version":"{EVIL}"}} \r\n
> {EVIL} CONNECT {{"lang":"{EVIL}","pass":"sEcReT"}}\r\nPING\r\n
< {EVIL} PONG\r\n
! {EVIL} {EVIL.replace(" ", "")} {{"text":"{EVIL.replace("'", "")}"}}
> {EVIL} SUB {EVIL} 1\r\n
> {EVIL} PUB $JS.ACK.{EVIL.replace(".", "")}.C.1.1.1.1700000000000000000.0 4\r\n+ack\r\n
< {EVIL} MSG {EVIL} 1 {len(EVIL)}\r\n{EVIL}\r\n
< {EVIL} -ERR '{EVIL}'\r\n
"""
READY = "document.documentElement.dataset.ready"
SMALL = "".join(long_trace(400))
FAULTY = SMALL + "> a PUB $JS.ACK.ORDERS.Ca.1.2.1.1795813228857713435.7 4\\r\\n+ACK\\r\\n\n" * 2


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    if chromium() is None:
        pytest.skip("there is no Chromium here: apt-get install chromium")
    with browser(tmp_path_factory.mktemp("profile")) as tab:
        yield tab


@pytest.fixture
def shown(tab, tmp_path):
    """Opens the page of a trace; what it must never do is looked for behind the test."""
    tab.asked.clear()
    tab.wrong.clear()
    tab.look()

    def show(text, name="x.trace", *words):
        trace = tmp_path / name
        trace.write_text(text, encoding="utf-8")
        assert main(["view", str(trace), "-o", str(tmp_path / "page.html"), *words]) == 0
        tab.open(tmp_path / "page.html", until=READY)
        return tab

    yield show
    assert [address for address in tab.asked if not address.startswith("file://")] == []
    assert len(tab.asked) == 1
    assert tab.wrong == []


def row_count(tab):
    return int(tab.value("document.getElementById('ladder').getAttribute('aria-rowcount')"))


def chosen(tab):
    """The line and the words of the chosen row."""
    tab.wait("document.querySelector('.row.chosen')")
    text = "[...document.querySelector('.row.chosen').children].map((cell) => cell.textContent)"
    line, _, _, words, tag = tab.value(text)
    return int(line.replace(",", "")), words, tag


def beside(tab, words):
    """Waits until the words stand beside the ladder."""
    tab.wait(f"document.getElementById('detail').textContent.includes({json.dumps(words)})")
    return True


# ------------------------------------------------------------------------------------------------ the command


def test_the_page_is_written_where_it_was_asked_for_and_told(tmp_path, capsys):
    (tmp_path / "x.trace").write_text(SMALL)

    assert main(["view", str(tmp_path / "x.trace"), "-o", str(tmp_path / "y.html")]) == 0
    size = (tmp_path / "y.html").stat().st_size
    assert capsys.readouterr().out == f"{tmp_path}/y.html: 402 rows, {size} bytes\n"
    assert main(["view", str(tmp_path / "x.trace"), "-o", str(tmp_path / "y.html"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"file": f"{tmp_path}/y.html", "rows": 402, "left_out": 0, "bytes": size}  # fmt: skip


def test_a_page_is_as_many_bytes_as_is_told_where_a_letter_is_more_than_one(tmp_path, capsys):
    (tmp_path / "bücher.trace").write_text(SMALL)

    assert (
        main(["view", str(tmp_path / "bücher.trace"), "-o", str(tmp_path / "y.html"), "--json"])
        == 0
    )
    assert json.loads(capsys.readouterr().out)["bytes"] == (tmp_path / "y.html").stat().st_size


def test_without_a_name_the_page_is_called_as_the_trace_and_stands_here(
    tmp_path, capsys, monkeypatch
):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "x.trace").write_text(SMALL)
    monkeypatch.chdir(tmp_path)

    assert main(["view", "in/x.trace"]) == 0
    assert capsys.readouterr().out.startswith("x.html: ")
    assert (tmp_path / "x.html").exists()


def test_rows_that_have_no_place_are_told(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("jsproto.trace.show.view.MOST_ROWS", 10)
    (tmp_path / "x.trace").write_text(SMALL)

    assert main(["view", str(tmp_path / "x.trace"), "-o", str(tmp_path / "x.html")]) == 0
    assert (
        capsys.readouterr().err == "392 more rows are not shown: --lines FIRST-LAST shows others\n"
    )


@pytest.mark.parametrize(
    ("trace", "output", "message"),
    [
        ("none.trace", "x.html", "none.trace: No such file or directory"),
        ("bad.trace", "x.html", "bad.trace, line 2: expected a line that begins with"),
        ("good.trace", "none/x.html", "none/x.html: No such file or directory"),
    ],
)
def test_what_cannot_be_read_or_written_is_one_error(tmp_path, capsys, trace, output, message):
    (tmp_path / "good.trace").write_text(SMALL)
    (tmp_path / "bad.trace").write_text("#jsproto-trace/2\n? what\n")

    assert main(["view", str(tmp_path / trace), "-o", str(tmp_path / output)]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("lines", ["5", "a-b", "-5-", "1-2-3"])
def test_lines_that_are_no_range_are_a_mistake(lines, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["view", "x.trace", f"--lines={lines}"])

    assert ended.value.code == 2
    assert "expected lines as FIRST-LAST, FIRST- or -LAST" in capsys.readouterr().err


def test_a_page_holds_no_secret_and_no_word_of_a_trace_as_html():
    viewing = Viewing()
    viewing.finish()
    text = page(viewing, f"{EVIL}{CUT}", {"about": EVIL})

    assert EVIL not in text
    assert len(re.findall("<script", text)) == 3
    assert "&lt;script&gt;document.title" in text


# ------------------------------------------------------------------------------------------------ the page


def test_a_hundred_thousand_records_stand_in_time_and_the_page_weighs_little_beside_its_data(
    shown, tmp_path, record_property
):
    tab = shown("".join(long_trace(100_000)))
    load, ready = tab.value(
        f"[performance.getEntriesByType('navigation')[0].loadEventEnd / 1000, Number({READY}) / 1000]"
    )
    text = (tmp_path / "page.html").read_text()
    data = sum(
        len(found[1])
        for found in re.finditer(r'<script type="text/plain"[^>]*>([^<]*)</script>', text)
    )
    print(f"load event after {load:.2f} s, 100,000 records stand after {ready:.2f} s (goal {GOAL} s); {len(text) - data} bytes beside {data} of data")  # fmt: skip

    assert 0 < row_count(tab) < 100_000
    tab.press("u")
    tab.wait("document.getElementById('ladder').getAttribute('aria-rowcount') > 100000")
    assert 0 < load < BOUND
    assert 0 < ready < BOUND
    assert len(text) - data < MOST_BESIDE
    tab.press("End")
    assert chosen(tab)[0] == 3 + 2 * 100_000
    tab.press("Home")
    assert chosen(tab)[1] == "consume stream=ORDERS consumer=Ca"


def test_nothing_in_a_trace_is_more_than_text(shown, tmp_path):
    tab = shown(HOSTILE, "<b>x{title}.trace")
    for key in ("Home", *["j"] * 12):
        tab.press(key, "Enter")
        tab.wait("document.querySelector('#detail h2')")

    assert tab.value("document.title") == "<b>x{title}.trace"
    assert tab.value("document.querySelectorAll('script').length") == 3
    assert (
        tab.value("document.querySelectorAll('img, h1 b, #rows script, #detail script').length")
        == 0
    )
    assert EVIL in tab.value("document.getElementById('rows').textContent")
    assert "sEcReT" not in (tmp_path / "page.html").read_text()


def test_a_frame_opens_with_its_bytes_meaning_state_and_pull(shown):
    tab = shown(SMALL)
    tab.press("/", *"delivery 2 of ORDERS.Ca", "Enter", "Enter")

    assert chosen(tab)[1].startswith("delivery 2 of ORDERS.Ca: message 4 on orders.eu.2")
    for words in (
        "consumer sequence2",
        "messages pending4948",
        "deliveries unsettled01",
        "50 of 50 from ORDERS.Ca",
        "MSG orders.eu.2 1 $JS.ACK.ORDERS.Ca.1.4.2.",
        '"order": 2,',
    ):
        assert beside(tab, words)
    tab.value("[...document.querySelectorAll('#detail h3 button')].at(-1).click()")
    assert beside(tab, "0000  4d 53 47 20 6f 72 64 65")


def test_a_pull_is_a_bar_that_leads_back_to_its_request(shown):
    tab = shown(SMALL)
    tab.press("/", *"delivery 3 of ORDERS.Cb", "Enter", "p")

    assert chosen(tab)[1].startswith("50 of 50, filled  ·  pull 50 from ORDERS.Cb")
    assert beside(tab, "filled after")


def test_findings_are_told_at_first_and_stand_at_their_rows(shown):
    tab = shown(FAULTY)

    assert beside(tab, "2 findings of 1 rule")
    tab.press("]")
    assert chosen(tab)[1:] == ("+ACK to $JS.ACK.ORDERS.Ca.1.2.1.1795813228857713435.7", "ack-twice")
    assert beside(tab, "a message is acknowledged once (B103)")
    tab.press("]", "[", "f")
    tab.wait("document.getElementById('ladder').getAttribute('aria-rowcount') === '2'")
    tab.press("Escape", "Escape")
    tab.wait("document.getElementById('count').textContent === '404 rows'")
    assert beside(tab, "2 findings of 1 rule")


def test_keys_lead_through_the_rows(shown):
    tab = shown(SMALL)
    tab.press("u")
    lines = []
    for key in ("j", "j", "ArrowDown", "k", "ArrowUp", "G", "g", "PageDown", "PageUp", "End"):
        tab.press(key)
        lines.append(chosen(tab)[0])

    assert lines[:7] == [5, 7, 9, 7, 5, 803, 5]
    assert lines[7] > 30
    assert lines[8:] == [5, 803]
    tab.press("?")
    assert tab.value("document.getElementById('keys').open") is True


def test_a_search_leaves_what_matches_or_goes_to_a_line(shown):
    tab = shown(SMALL)
    tab.press("/", *"DELIVERY 1")
    tab.wait("document.getElementById('count').textContent === '22 of 402 rows'")
    tab.press("Escape")
    tab.wait("document.getElementById('count').textContent === '402 rows'")
    tab.press("/", *":101")
    assert chosen(tab)[0] == 101
    tab.press("Escape", "/", *"nothing at all")
    tab.wait("!document.getElementById('empty').hidden")


def test_one_link_can_be_looked_at_alone(shown):
    tab = shown(SMALL)
    tab.value(
        "(() => { const by = document.getElementById('by-conn'); by.value = 'b'; by.dispatchEvent(new Event('change')); })()"
    )

    tab.wait("document.getElementById('count').textContent === '201 of 402 rows'")


def test_only_wanted_lines_are_shown(shown):
    tab = shown(SMALL, "x.trace", "--lines", "101-200")
    tab.press("u")
    tab.wait("document.querySelectorAll('.row:not([hidden])').length > 10")

    assert row_count(tab) == 50
    tab.press("Home")
    assert chosen(tab)[0] == 101


def test_a_click_on_a_row_opens_it_and_one_on_the_time_axis_goes_there(shown):
    tab = shown(SMALL)
    tab.press("u")
    tab.wait("document.querySelectorAll('.row:not([hidden])').length > 10")
    box = tab.value(
        "(({ x, y, height }) => [x, y, height])(document.querySelectorAll('.row')[3].getBoundingClientRect())"
    )
    tab.click(box[0] + 20, box[1] + box[2] / 2)
    assert beside(tab, "line 11 at")
    width = tab.value("document.querySelector('#timeline').clientWidth")
    tab.click(width - 20, 100)
    assert chosen(tab)[0] > 700


def test_the_time_axis_is_zoomed_around_the_chosen_row_and_follows_it(shown):
    tab = shown(SMALL)
    at = "(({ left, width }) => left + width / 2)(document.querySelector('#timeline').getBoundingClientRect())"
    tab.press("u", "/", *":401", "Enter", *"+++")
    assert chosen(tab)[0] == 401
    tab.press("End")
    assert chosen(tab)[0] == 803
    tab.click(tab.value(at), 100)
    near = chosen(tab)[0]
    tab.press("0")
    tab.click(tab.value(at), 100)

    assert 600 < near < 803
    assert chosen(tab)[0] < 600


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1440, 420])
def test_both_colour_schemes_can_be_read_on_wide_and_narrow_screens(shown, dark, width):
    tab = shown(FAULTY)
    tab.look(width=width, dark=dark)
    tab.press("]")
    assert beside(tab, "ack-twice")
    weakest = tab.value(CONTRAST)

    assert weakest >= 4.5
    assert tab.value("document.documentElement.scrollWidth") <= width


#: The weakest contrast (WCAG 2) of text on its ground.
CONTRAST = """(() => {
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => {
    const part = (c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const ground = (node) => {
    const seen = numbers(getComputedStyle(node).backgroundColor);
    return seen.length === 4 && seen[3] === 0 ? ground(node.parentElement) : seen;
  };
  const texts = [...document.querySelectorAll("h1, h2, h3, p, th, td, span, button, select, output, b")]
    .filter((node) => node.textContent.trim() && node.checkVisibility({ visibilityProperty: true }) && !node.disabled);
  return Math.min(...texts.map((node) => {
    const [a, b] = [light(numbers(getComputedStyle(node).color)), light(ground(node))].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  }));
})()"""


#: A pull that is owed heartbeats each half second, a server that is silent from second 2 to 7, and
#: a link that is lost for a second.
BODY = '{"batch":20,"expires":30000000000,"idle_heartbeat":500000000}'
SETUP = "> a PUB orders.new 1\\r\\n1\\r\\n\n> a PUB orders.old 1\\r\\n1\\r\\n\n" * 100
INCIDENT = rf"""#jsproto-trace/2
= a connected
< a INFO {{"server_id":"N","version":"2.15.1","headers":true}} \r\n
> a CONNECT {{"lang":"go","headers":true}}\r\nPING\r\n
< a PONG\r\n
> a SUB _INBOX.p 2\r\n
{SETUP}@ 1
> a PUB $JS.API.CONSUMER.MSG.NEXT.S.C _INBOX.p {len(BODY)}\r\n{BODY}\r\n
@ 2
< a HMSG _INBOX.p 2 31 31\r\nNATS/1.0 100 Idle Heartbeat\r\n\r\n\r\n
@ 7
= a eof
@ 8
= a connected
< a INFO {{"server_id":"N","version":"2.15.1","headers":true}} \r\n
"""


def test_silence_missed_heartbeats_and_lost_links_stand_in_the_time_axis_and_in_the_list(shown):
    tab = shown(INCIDENT)

    assert tab.value("document.getElementById('timeline').getAttribute('aria-description')") == (
        "a: silent from 2.000 s to 7.000 s, 10 heartbeats missed; a: no link from 7.000 s to 8.000 s"
    )
    assert beside(tab, "Silence and lost links")
    assert beside(tab, "its link ended")


def test_the_page_opens_where_something_is_wrong(shown):
    tab = shown(INCIDENT)

    assert tab.value("document.getElementById('ladder').scrollTop") > 1000
    assert beside(tab, "Silence and lost links")


def test_a_page_of_a_trace_without_anything_wrong_opens_at_its_first_row(shown):
    assert shown(SMALL).value("document.getElementById('ladder').scrollTop") == 0


#: Two requests with their answers, a PING with its PONG, a pull that is served and acked, a burst
#: of publishes and a pull in excess.
PULLING = '{"batch":5,"expires":30000000000,"idle_heartbeat":15000000000}'
ACKS = "$JS.ACK.S.C.1.{0}.{0}.1700000000000000000.0"
SERVED = (
    "@ 0.50{0}\n< a MSG s 2 " + ACKS + " 1\\r\\nx\\r\\n\n> a PUB " + ACKS + " 4\\r\\n+ACK\\r\\n\n"
)
BURST = "> a PUB orders.b 1\\r\\n1\\r\\n\n" * 40
BUSY = rf"""#jsproto-trace/2
= a connected
< a INFO {{"server_id":"N","version":"2.15.1","headers":true}} \r\n
> a CONNECT {{"lang":"go","headers":true}}\r\nPING\r\n
@ 0.002
< a PONG\r\n
> a SUB _INBOX.> 2\r\n
> a PUB $JS.API.STREAM.INFO.S _INBOX.r1 0\r\n\r\n
@ 0.003
< a MSG _INBOX.r1 2 2\r\n{{}}\r\n
> a PUB orders.new _INBOX.r2 1\r\n1\r\n
@ 0.005
< a MSG _INBOX.r2 2 23\r\n{{"stream":"S","seq":10}}\r\n
@ 0.5
> a PUB $JS.API.CONSUMER.MSG.NEXT.S.C _INBOX.p {len(PULLING)}\r\n{PULLING}\r\n
{"".join(map(SERVED.format, range(1, 6)))}{BURST}@ 1
> a PING\r\n
@ 1.5
= a eof
"""


def ladder(tab):
    """Words and tags of the rows in sight."""
    tab.wait("document.querySelector('.row')")
    return tab.value(
        "[...document.querySelectorAll('.row:not([hidden])')].map((row) => [row.children[3].textContent, row.children[4].textContent])"
    )


def test_answers_stand_beside_what_they_answer_and_runs_are_one_row(shown):
    tab = shown(BUSY)

    assert ladder(tab) == [
        ["connected", ""],
        ["INFO 2.15.1", ""],
        ["CONNECT", ""],
        ["PING  ·  after 2 ms PONG", ""],
        ["SUB _INBOX.> as 2", ""],
        ["STREAM.INFO S  ·  after 1 ms message _INBOX.r1 (2 bytes)", ""],
        [
            "publish orders.new (1 bytes), reply _INBOX.r2  ·  after 2 ms message _INBOX.r2 (23 bytes)",
            "",
        ],
        ["5 of 5, filled  ·  pull 5 from S.C, expires 30 s, to _INBOX.p", ""],
        [
            f"5 times in 4 ms  ·  delivery 1 of S.C: message 1 on s (1 bytes), 0 left  ·  each with +ACK to {ACKS.format(1)}",
            "▸ unfold",
        ],
        ["40 times at once  ·  publish orders.b (1 bytes)", "▸ unfold"],
        ["PING", ""],
        ["eof", ""],
    ]
    assert tab.value("document.getElementById('count').textContent") == "63 rows"


def test_a_run_is_unfolded_by_a_click_or_a_key_and_all_of_them_by_another(shown):
    tab = shown(BUSY)
    tab.value(
        "[...document.querySelectorAll('.tag')].find((each) => each.textContent === '▸ unfold').click()"
    )
    tab.wait("document.getElementById('ladder').getAttribute('aria-rowcount') > 14")
    assert ["delivery 3 of S.C: message 3 on s (1 bytes), 0 left  ·  after 0 ms +ACK to $JS.ACK.S.C.1.3.3.1700000000000000000.0", ""] in ladder(tab)  # fmt: skip
    tab.press("/", *":50", "Enter")
    assert chosen(tab)[:2] == (50, "publish orders.b (1 bytes)")
    tab.press("u")
    tab.wait("document.getElementById('ladder').getAttribute('aria-rowcount') === '63'")
    tab.press("u")
    tab.wait("document.getElementById('ladder').getAttribute('aria-rowcount') === '12'")
    assert chosen(tab)[1].startswith("40 times")
    tab.press("x")
    tab.wait("document.getElementById('ladder').getAttribute('aria-rowcount') === '51'")
    tab.press("x")
    tab.wait("document.getElementById('ladder').getAttribute('aria-rowcount') === '12'")


def test_a_row_that_is_answered_leads_to_its_answer(shown):
    tab = shown(BUSY)
    tab.press("/", *"STREAM.INFO", "Enter", "Enter")
    assert beside(tab, "Answer")
    tab.value(
        "[...document.querySelectorAll('#detail p button')].find((each) => each.textContent === 'line 10').click()"
    )
    assert chosen(tab)[:2] == (10, "message _INBOX.r1 (2 bytes)")


def test_the_bound_of_what_may_be_pending_stands_in_the_time_axis(shown):
    tab = shown(BUSY)
    box = tab.value(
        "(({ x, y, width }) => [x, y, width])(document.querySelector('#timeline canvas').getBoundingClientRect())"
    )
    tab.value(
        f"document.querySelector('#timeline canvas').dispatchEvent(new PointerEvent('pointermove', {{ clientX: {box[0] + 112 + (box[2] - 124) * 0.5015 / 1.5}, clientY: {box[1] + 40} }}))"
    )

    assert "4 messages pending\n5 is the bound" in tab.value(
        "document.getElementById('tip').textContent"
    )


def test_silence_and_a_lost_link_are_told_at_their_rows(shown):
    tags = [tag for _, tag in ladder(shown(INCIDENT)) if tag]

    assert tags == ["silent for 5 s", "no link for 1 s"]
