"""The page, read by a real browser, from a real server with made-up data."""

import http.server
import json
import pathlib
import re
import sys
import tempfile
import threading
import unittest
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
import page_examples  # noqa: E402
from server import Server  # noqa: E402
from tests.servers.chromium import Chromium  # noqa: E402

IMAGE = "<img src=x onerror=alert(1)>"
ODD = "a#b&c=d%41%/ü+e f\"'\u202egnp"
VIEWS = ("#", "#job=llama-70b-pretrain", "#job=vit-large-imagenet", "#job=none", "#alert=a31f00c4d2e90001", "#alert=1", "#rules", "#engine")
browser = None


def setUpModule():
    global browser
    browser = Chromium().start()


def tearDownModule():
    browser.stop()


def hostile(data):
    """Every text that somebody else writes is markup."""
    for name in (IMAGE, ODD):
        one = page_examples.job(name, ranks=4)
        page_examples.with_ranks(one, slow={1: 2})
        for rank in one["by_rank"]:
            rank["node"] = name
        data["jobs"].append(one)
        data["alerts"].append(page_examples.alert(
            one, 100 + len(data["jobs"]), name, "D3", "critical", name, page_examples.before(minutes=1), 3, {"level": "rank", "rank": 1, "node": name}, [1],
            (name, f"</script>{name}<script>alert(2)</script>", name, name, name), {name: name, "x": "javascript:alert(3)"}))
        data["verdicts"].append({"verdict": {"family": name, "family_words": name, "end_reason": name, "families": [
            {"family": name, "words": name, "standing": "in", "rules": [name], "missing": [name]}],
            "shows": [name], "cannot_decide": [name], "quarantined": [name]},
            "subject": name, "attempt": name, "ended": 1_780_000_000_000_000_000})
        one["undecided"] = [{"rule": name, "missing": [name]}]
        data["rules"].append({"name": name, "family": name, "severity": name, "mode": name, "summary": name, "file": name, "line": 1, "scripted": False})
    data["status"].update(instance=IMAGE, group=IMAGE, not_ready=IMAGE, reload_failure=IMAGE, version=IMAGE, pack=IMAGE)


class Page(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.data = page_examples.cluster()
        browser.complaints.clear()
        browser.dialogs.clear()
        browser.requests.clear()
        browser.resize(1400, 900)

    def serve(self, *arguments):
        self.write()
        server = Server("--data", self.folder, *arguments)
        self.addCleanup(server.__exit__)
        self.addCleanup(browser.open, "about:blank")     # before the server ends
        return server

    def write(self):
        for name, value in self.data.items():
            (self.folder / f"{name}.new").write_text(json.dumps(value))
            (self.folder / f"{name}.new").rename(self.folder / f"{name}.json")

    def open(self, server, fragment="#"):
        self.address = f"http://127.0.0.1:{server.port}/"
        browser.open("about:blank")
        browser.open(self.address + fragment)
        browser.wait("document.querySelector('main h1') !== null")

    def follow(self, fragment):
        """As a link within the page does."""
        browser.value(f"location.hash = {json.dumps(fragment)}")
        browser.wait("shown === (({view, parameters}) => view + '=' + (parameters[view] ?? ''))(current_route()) && !!document.querySelector('main h1')")

    def jobs(self):
        return browser.texts("#main table tbody th")

    # ---- what it shows
    def test_the_worst_jobs_come_first_and_above_them_what_fires(self):
        self.open(self.serve())
        self.assertEqual(self.jobs()[:5], ["llama-70b-pretrain", "moe-ablation-3", "protein-fold-ft", "speech-conformer", "vit-large-imagenet"])
        self.assertEqual(browser.texts(".firing .mark"), ["critical"] * 2 + ["warning"] * 3)
        self.assertIn("Rank process stopped", browser.texts(".firing .what")[0])
        self.assertEqual(browser.texts(".firing .when")[0], "6 min ago")       # by the server's clock
        self.assertEqual(browser.value("document.querySelector('#as-of').innerText"), "as of 2026-11-22 03:20:41 UTC")
        self.assertEqual(browser.value("document.title"), "2 critical, 3 warning · tocsin")

    def test_columns_sort_by_a_click_and_the_address_keeps_it(self):
        server = self.serve()
        self.open(server)
        browser.click("th button", "Loss")
        self.assertEqual(self.jobs()[:2], ["moe-ablation-3", "clip-webscale"])
        browser.click("th button", "Loss")
        self.assertEqual((self.jobs()[0], self.jobs()[-1]), ("diffusion-xl", "ocr-finetune"))       # what is unknown stays last
        self.assertEqual(browser.texts("[aria-sort=ascending]"), ["Loss"])
        self.open(server, urllib.parse.urlsplit(browser.value("location.href")).fragment.join(["#", ""]))
        self.assertEqual(self.jobs()[0], "diffusion-xl")

    def test_jobs_are_found_by_name_and_by_state(self):
        self.open(self.serve())
        browser.value("document.querySelector('input').focus()")
        browser.type("LLAMA")
        self.assertEqual(self.jobs(), ["llama-70b-pretrain", "llama-8b-dpo"])
        browser.click(".chip", "hung")
        self.assertEqual(self.jobs(), ["llama-70b-pretrain"])
        self.assertEqual(browser.value("location.hash"), "#find=LLAMA&state=hung")
        browser.click(".chip", "ended")
        self.assertIn("No job is called so", browser.texts("#main")[0])

    def test_a_link_leads_to_one_alert_with_all_of_its_parts(self):
        self.open(self.serve(), "#alert=a31f00c4d2e90002")
        self.assertEqual(browser.texts("h1"), ["Training diverged"])
        self.assertEqual(browser.texts(".form dt"), ["Who", "Since", "Seen", "Likely", "Do", "Not known", "More"])
        self.assertIn("2026-11-22 02:56:41 UTC", browser.texts(".form dd")[1])
        evidence = dict(zip(browser.texts(".evidence tbody th"), browser.texts(".evidence td")))
        self.assertEqual((evidence["median"], evidence["gradient"]), ("103.2", "unknown"))
        browser.click(".path a", "moe-ablation-3")
        browser.wait("document.querySelector('h1').textContent === 'moe-ablation-3'")

    def test_an_alert_that_is_not_here_says_where_it_may_be(self):
        self.open(self.serve(), "#alert=00000000000000ff")
        text = browser.texts("main")[0]
        for part in ("No alert 00000000000000ff here", "instance tocsin-a of group tocsin", "partitions 0, 1, 2", "may be forgotten"):
            self.assertIn(part, text)

    def test_a_job_shows_its_figures_alerts_ranks_verdicts_and_what_no_rule_can_decide(self):
        self.open(self.serve(), "#job=vit-large-imagenet")
        self.assertEqual(len(browser.texts(".bar")), 32)
        self.assertEqual(len(browser.texts(".bar.slow")), 1)
        self.assertIn("slowest: rank 13 on gpu-12 · compute time 319 ms, 1.71 × median", browser.texts(".readout")[0])
        self.assertEqual(browser.texts(".alert.firing h3"), ["Straggler: one rank slows the whole job"])
        self.assertEqual(len(browser.texts(".past")), 2)
        self.assertIn("A1, application error", browser.texts(".verdict h3")[0])
        self.assertEqual(browser.texts(".standing > summary b"), ["In: 1 family", "Undecidable: 1 family", "Out: 2 families"])
        self.assertEqual(browser.texts("[aria-labelledby=undecided] td"),
                         ["collective_launched", "no signal, but has too few values so far", "checkpoint_begin, checkpoint_end"])
        for tile in ("32", "131,872", "1.81", "2.417", "87 %", "24.5"):
            self.assertTrue(any(tile in text for text in browser.texts(".tile dd")), tile)

    def test_ranks_are_reached_by_the_keyboard(self):
        self.open(self.serve(), "#job=vit-large-imagenet")
        browser.value("document.querySelector('.bar').focus()")
        browser.press("ArrowRight")
        self.assertIn("rank 1 on gpu-11", browser.texts(".readout")[0])
        browser.press("End")
        self.assertIn("rank 31 on gpu-14", browser.texts(".readout")[0])
        self.assertEqual(browser.value("[...document.querySelectorAll('.bar')].filter(one => one.tabIndex === 0).length"), 1)

    def test_a_cluster_without_jobs_says_how_to_get_one(self):
        self.data.update(jobs=[], alerts=[])
        self.open(self.serve())
        self.assertIn("tocsin wrap --to", browser.texts(".empty")[0])
        self.assertIn("ingest:", browser.texts(".empty")[0])

    def test_rules_are_found_by_what_they_are_about_with_file_and_line(self):
        self.open(self.serve(), "#rules")
        self.assertEqual(len(self.jobs()), len(self.data["rules"]))
        browser.value("document.querySelector('input').focus()")
        browser.type("slows the whole job")
        self.assertEqual(self.jobs(), ["straggler"])
        self.assertRegex(browser.texts("tbody code")[0], r"^ranks\.lua:\d+$")

    # ---- while it is watched
    def test_it_follows_what_changes_and_leaves_focus_scroll_and_opened_parts(self):
        server = self.serve()
        self.open(server, "#job=llama-70b-pretrain")
        browser.value("document.querySelector('.rank-table').open = true; document.querySelector('.rank-table th button').focus(); scrollTo(0, 300)")
        self.data["jobs"][0].update(step=48_999, state="running")
        self.data["status"]["time"] = "2026-11-22T03:30:00Z"
        self.write()
        browser.wait("document.querySelector('.tiles').textContent.includes('48,999')")
        self.assertEqual(browser.value("[document.querySelector('.rank-table').open, document.activeElement.textContent, scrollY]"), [True, "Rank", 300])
        self.assertIn("15 min ago", browser.texts(".alert.firing .age")[0])

    def test_the_back_button_leads_to_where_one_was(self):
        self.open(self.serve())
        browser.resize(1400, 400)
        browser.value("scrollTo(0, 250)")
        browser.wait("scrollY === 250")
        browser.click("tbody a", "vit-large")
        browser.wait("document.querySelector('h1').textContent === 'vit-large-imagenet' && scrollY === 0")
        browser.value("history.back()")
        browser.wait("document.querySelector('#main table tbody') && scrollY === 250")

    def test_a_banner_says_that_the_server_is_gone_and_how_old_the_rest_is(self):
        server = self.serve()
        self.open(server)
        server.status("stop")
        browser.value("look()")
        text = browser.texts("[role=alert]")[0]
        self.assertIn("The server does not answer.", text)
        self.assertIn("as of 2026-11-22 03:20:41 UTC", text)
        self.assertEqual(len(self.jobs()), 12)

    def test_a_banner_says_what_is_not_ready_and_that_a_reload_failed(self):
        self.data["status"].update(not_ready="partition 2 is being restored", reload_failure="rules/a.lua:3: unexpected symbol\n  x = = 1")
        server = self.serve()
        self.open(server)
        self.assertIn("Not ready: partition 2 is being restored", browser.texts(".notice")[0])
        browser.click(".notice a", "Why")
        browser.wait("document.querySelector('main pre')")
        self.assertEqual(browser.texts("main pre"), ["rules/a.lua:3: unexpected symbol\n  x = = 1"])
        self.data["status"].update(not_ready="", reload_failure="")
        self.write()
        browser.value("look()")
        self.assertEqual(browser.texts(".notice"), [])

    def test_a_banner_says_that_credentials_are_wanted_or_that_requests_are_too_many(self):
        (self.folder / "token").write_text("one")
        browser.ask("Network.setExtraHTTPHeaders", headers={"Authorization": "Bearer one"})
        self.addCleanup(browser.ask, "Network.setExtraHTTPHeaders", headers={})
        self.open(self.serve("--token-file", self.folder / "token", "--rate", 12))
        (self.folder / "token").write_text("two")
        browser.value("look()")
        self.assertIn("The server wants a user and a password (401).", browser.texts("[role=alert]")[0])
        (self.folder / "token").write_text("one")
        browser.value("look()")
        self.assertEqual(browser.texts(".notice"), [])
        browser.value("Promise.all(Array.from({length: 60}, () => fetch('api/v1/status'))).then(look)")
        self.assertIn("more requests than it takes (429, http.requests_per_second). It is asked again in 2 s.", browser.texts("[role=alert]")[0])
        browser.wait("document.querySelectorAll('.notice').length === 0")

    # ---- wherever it is
    def test_it_works_behind_a_proxy_under_a_path_of_its_own(self):
        server = self.serve()

        class Proxy(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                status, headers, text = server.get(self.path.removeprefix("/cluster/tocsin")) if self.path.startswith("/cluster/tocsin/") else (404, {}, "")
                self.send_response(status)
                for name in ("Content-Type", "Content-Security-Policy"):
                    self.send_header(name, headers.get(name, ""))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_):
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as proxy:
            threading.Thread(target=proxy.serve_forever, daemon=True).start()
            browser.open(f"http://127.0.0.1:{proxy.server_port}/cluster/tocsin/#alert=a31f00c4d2e90002")
            browser.wait("document.querySelector('h1').textContent === 'Training diverged'")
            browser.open("about:blank")
            proxy.shutdown()

    def test_a_reader_signs_in_once_also_by_an_address_with_credentials_in_it(self):
        (self.folder / "password").write_text("hunter2")
        server = self.serve("--user", "op", "--password-file", self.folder / "password")
        browser.open(f"http://op:hunter2@127.0.0.1:{server.port}/")
        browser.wait("document.querySelectorAll('#main tbody tr').length === 12")
        self.assertEqual(browser.texts(".notice"), [])

    # ---- whatever it shows
    def test_an_answer_that_it_does_not_understand_is_named_and_the_next_one_is_shown(self):
        server = self.serve()
        self.open(server)
        jobs, self.data["jobs"] = self.data["jobs"], [{"job": 1}]
        self.write()
        browser.value("look()")
        self.assertIn("This cannot be shown", browser.texts("main .empty")[0])
        self.data["jobs"] = jobs
        self.write()
        browser.value("look()")
        self.assertEqual(len(self.jobs()), 12)
        browser.complaints.clear()

    def test_names_and_texts_of_strangers_are_text(self):
        hostile(self.data)
        self.open(self.serve())
        theirs = [*("#job=" + urllib.parse.quote(name, safe="") for name in (IMAGE, ODD)), *(f"#alert={one['id']}" for one in self.data["alerts"][-2:])]
        for view in (*VIEWS, *theirs):
            self.follow(view)
            self.assertEqual(browser.value("document.querySelectorAll('img, main script, iframe').length"), 0, view)
            self.assertEqual(browser.value("[...document.querySelectorAll('a')].filter(one => !one.getAttribute('href').startsWith('#')).length"), 0, view)
        self.assertEqual((browser.dialogs, browser.complaints), ([], []))
        self.follow("#")
        for name, shown in ((IMAGE, IMAGE), (ODD, ODD.replace("\u202e", "\\u202e"))):
            self.assertIn(shown, self.jobs())
            browser.click("tbody th a", shown)
            browser.wait(f"document.querySelector('h1').textContent === {json.dumps(shown)}")
            self.assertEqual(len(browser.texts(".bar")), 4)       # it was found by its name
            browser.click(".alert h3 a")
            browser.wait("document.querySelector('.alert.single')")
            self.assertIn(shown, browser.texts(".path")[0])
            self.follow("#")

    def test_it_asks_no_other_server_and_breaks_none_of_its_own_rules(self):
        self.open(self.serve())
        for view in VIEWS:
            self.follow(view)
        self.assertEqual(browser.complaints, [])
        self.assertEqual([one for one in browser.requests if not one.startswith((self.address, "about:", "data:,"))], [])

    def test_no_view_is_wider_than_a_telephone_nor_than_a_wall(self):
        hostile(self.data)
        self.open(self.serve())
        for width, height, views in ((3840, 2160, ("#", "#job=clip-webscale")), (400, 800, (*VIEWS, "#job=" + urllib.parse.quote(IMAGE, safe="")))):
            browser.resize(width, height)
            for view in views:
                self.follow(view)
                self.assertLessEqual(browser.value("document.documentElement.scrollWidth"), width, (view, width))

    def test_a_thousand_jobs_are_drawn_sorted_and_followed_without_a_pause(self):
        base = self.data["jobs"]
        self.data["jobs"] = [{**base[i % 12], "job": f"job-{i:04}", "step": i, "by_rank": [],
                              "alerts": base[i % 12]["alerts"] if i % 50 < 12 else []} for i in range(1000)]
        self.open(self.serve())
        self.assertEqual(len(self.jobs()), 1000)
        took = lambda what: browser.value(f"(() => {{ const begun = performance.now(); {what}; return performance.now() - begun; }})()")  # noqa: E731
        times = {"sorted": took("refine({sort: 'step'})"), "the same": took("show()"),
                 "all changed": took("for (const one of live.data.jobs) one.step += 1; show()"), "found": took("refine({find: '77'})")}
        print({what: f"{ms:.0f} ms" for what, ms in times.items()})
        self.assertLess(max(times.values()), 2000)       # of a busy machine; a tenth of it is usual


class Colours(unittest.TestCase):
    def test_texts_stand_out_from_what_they_stand_on_in_light_and_dark(self):
        style = (page_examples.ROOT / "adapters/http/page/page.css").read_text()
        light, dark = (dict(re.findall(r"(--[\w-]+): (#\w+);", block.split("}")[0])) for block in style.split(":root {")[1:])
        for name, colours in (("light", light), ("dark", dark)):
            self.assertEqual((set(colours), len(colours)), (set(light), 15), name)
            anywhere = [(text, ground) for text in ("text", "quiet", "link", "critical", "warning", "info", "slow") for ground in ("ground", "sheet", "faint")]
            notices = [(text, f"{kind}-sheet") for kind in ("critical", "warning") for text in ("text", "link", kind)]
            for text, ground in (*anywhere, *notices, ("info", "info-sheet"), ("sheet", "critical")):
                self.assertGreaterEqual(contrast(colours["--" + text], colours["--" + ground]), 4.5, f"{name}: {text} on {ground}")


def contrast(one, other):
    """As WCAG has it."""
    def luminance(colour):
        parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


if __name__ == "__main__":
    unittest.main()
