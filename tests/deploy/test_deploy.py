"""The files of deploy/ under the tools that read them: promtool, amtool, a real Alertmanager."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest
import urllib.request

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT)]

from tests.demo import dashboards  # noqa: E402
from tests.servers.alertmanager import Alertmanager  # noqa: E402
from tests.servers.process import wait_for  # noqa: E402
from tests.servers.prometheus import promtool  # noqa: E402

PROMETHEUS = ROOT / "deploy" / "prometheus"
ALERTMANAGER = ROOT / "deploy" / "alertmanager"
NAME = re.compile(r"\btocsin_[a-z_]+[a-z]")


def metrics():
    """The names of all metrics that the program has."""
    sources = "".join(path.read_text() for path in (ROOT / "adapters" / "prometheus").glob("*.cpp"))
    return {name for name in re.findall(r'"(tocsin_[a-z_]+)"', sources)}


class Prometheus(unittest.TestCase):
    def test_the_configuration_and_the_rules_are_valid(self):
        done = promtool("check", "config", PROMETHEUS / "prometheus.yml")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_each_alert_fires_where_it_must_and_not_elsewhere(self):
        done = promtool("test", "rules", PROMETHEUS / "tocsin.rules.test.yml")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        cases = (PROMETHEUS / "tocsin.rules.test.yml").read_text()
        for alert in re.findall(r"- alert: (\w+)", (PROMETHEUS / "tocsin.rules.yml").read_text()):
            self.assertIn(f"- name: {alert} fires\n", cases)
            self.assertIn(f"- name: {alert} does not fire\n", cases)

    def test_rules_and_pages_name_metrics_that_there_are_and_the_page_all_of_them(self):
        named = set(NAME.findall((PROMETHEUS / "tocsin.rules.yml").read_text()))
        self.assertLessEqual(named, metrics())
        page = (ROOT / "docs" / "metrics.md").read_text()
        self.assertEqual(set(re.findall(r"`(tocsin_[a-z_]+)`", page)), metrics())
        alerts = set(re.findall(r"- alert: (\w+)", (PROMETHEUS / "tocsin.rules.yml").read_text()))
        self.assertEqual(set(re.findall(r"`(Tocsin\w+)`", page)), alerts)
        operate = (ROOT / "docs" / "operate.md").read_text()
        self.assertEqual(set(re.findall(r"`(Tocsin\w+)`", operate)), alerts, "what to do at night")
        self.assertLessEqual(set(re.findall(r"`(tocsin_[a-z_]+)`", operate)), metrics())


class Dashboards(unittest.TestCase):
    """Their queries are sent to a real Prometheus in tests/demo."""

    def test_each_has_what_grafana_needs_of_it(self):
        boards = dashboards.boards()
        self.assertEqual(list(boards), ["engine", "fleet", "job"])
        self.assertEqual({board["uid"] for board in boards.values()}, {"tocsin-engine", "tocsin-fleet", "tocsin-job"})
        for name, board in boards.items():
            self.assertGreaterEqual(board["schemaVersion"], 39, name)
            self.assertEqual(board["templating"]["list"][0]["type"], "datasource", name)
            ids = [panel["id"] for panel in board["panels"]]
            self.assertEqual(len(ids), len(set(ids)), name)
            for panel in dashboards.panels(board):
                where = f"{name}: {panel['title']}"
                self.assertTrue(panel["targets"], where)
                self.assertEqual({target["datasource"]["uid"] for target in panel["targets"]}, {"${datasource}"}, where)
                self.assertTrue(panel["fieldConfig"]["defaults"]["unit"], where)
                self.assertTrue(panel["fieldConfig"]["defaults"]["thresholds"]["steps"], where)

    def test_no_panel_lies_upon_another(self):
        for name, board in dashboards.boards().items():
            taken = {}
            for panel in board["panels"]:
                at = panel["gridPos"]
                self.assertLessEqual(at["x"] + at["w"], 24, (name, panel["title"]))
                for cell in ((x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])):
                    self.assertNotIn(cell, taken, f"{name}: {panel['title']} lies upon {taken.get(cell)}")
                    taken[cell] = panel["title"]

    def test_states_and_severities_have_the_same_colours_everywhere(self):
        words = {"{{state}}": {"starting": "blue", "running": "green", "hung": "red", "unobserved": "orange", "ended": "text"},
                 "{{severity}}": {"critical": "red", "warning": "yellow", "info": "blue"}}
        seen = set()
        for name, board in dashboards.boards().items():
            for panel in dashboards.panels(board):
                for legend in {target.get("legendFormat") for target in panel["targets"]} & words.keys():
                    fixed = {override["matcher"]["options"]: property_["value"]["fixedColor"] for override in panel["fieldConfig"]["overrides"]
                             for property_ in override["properties"] if property_["id"] == "color"}
                    self.assertEqual(fixed, words[legend], f"{name}: {panel['title']}")
                    seen.add(legend)
        self.assertEqual(seen, words.keys())

    def test_tables_of_alerts_say_that_there_is_none_only_where_there_is_none(self):
        expressions = {query.replace("$job_id", "a") for board in dashboards.boards().values() for _, query in dashboards.queries(board) if "(none)" in query}
        self.assertEqual(len(expressions), 2)
        for query in expressions:
            for series, rules in (([], ["(none)"]), ([{"series": 'tocsin_alert_firing{job_id="a", rule="straggler", rank="1"}', "values": "1 1"}], ["straggler"])):
                labels = '{rule="(none)"}' if not series else next(iter(re.findall(r"by \((.*?)\)", query)))
                if series:
                    labels = "{" + ('job_id="a", ' if "job_id" in labels.split(", ") else "") + 'rule="straggler", rank="1"}'
                wanted = {"expr": query, "eval_time": "1m", "exp_samples": [{"labels": labels, "value": 1 if series else 0}]}
                with tempfile.TemporaryDirectory() as folder:
                    file = pathlib.Path(folder, "none.yml")
                    file.write_text(json.dumps({"tests": [{"interval": "1m", "input_series": series, "promql_expr_test": [wanted]}]}))
                    done = promtool("test", "rules", file)
                    self.assertEqual(done.returncode, 0, f"{rules}: {done.stdout}{done.stderr}")

    def test_they_name_metrics_that_there_are(self):
        for name, board in dashboards.boards().items():
            asked = [selector for _, selector, _ in dashboards.variables(board)] + [query for _, query in dashboards.queries(board)]
            named = {re.sub(r"_bucket$", "", metric) for query in asked for metric in NAME.findall(query)}
            self.assertLessEqual(named, metrics(), name)

    def test_the_links_lead_from_the_fleet_to_a_job_and_to_a_rank(self):
        boards = dashboards.boards()
        uids = {board["uid"]: board for board in boards.values()}
        linked = {}
        for name, board in boards.items():
            for uid, query in re.findall(r"/d/([\w-]+)(\?[^\"]*)?", json.dumps(board)):
                self.assertIn(uid, uids, name)
                known = {variable["name"] for variable in uids[uid]["templating"]["list"]}
                self.assertLessEqual(set(re.findall(r"var-(\w+)=", query)), known, name)
                linked.setdefault((name, uids[uid]["title"]), set()).update(re.findall(r"var-(\w+)=", query))
        self.assertLessEqual({"job_id"}, linked["fleet", "tocsin: job"])
        self.assertLessEqual({"job_id", "rank"}, linked["job", "tocsin: job"])

    def test_the_provisioning_files_are_what_grafana_reads(self):
        folder = ROOT / "deploy" / "grafana" / "provisioning"
        for path, pattern in (("datasources/tocsin.yml", r"\napiVersion: 1\ndatasources:\n- name: \w+\n  type: prometheus\n  access: proxy\n  url: \S+"),
                              ("dashboards/tocsin.yml", r"\napiVersion: 1\nproviders:\n- name: \w+\n(  \w+: \w+\n)+  options: \{path: /\S+\}\n")):
            self.assertRegex((folder / path).read_text(), pattern)


class Installations(unittest.TestCase):
    """As far as they can be tried without containers and without an init system."""

    def test_the_unit_has_what_the_pages_do_with_it(self):
        unit = (ROOT / "deploy" / "systemd" / "tocsin.service").read_text()
        self.assertIn("`systemctl reload`", (ROOT / "docs" / "reload.md").read_text())
        self.assertRegex(unit, r"(?m)^ExecReload=.*kill -HUP \$MAINPID")
        self.assertRegex(unit, r"(?ms)^SystemCallFilter=~@privileged @resources$.*^SystemCallFilter=setpriority$")

    @unittest.skipUnless(shutil.which("systemd-analyze"), "there is no systemd here")
    def test_systemd_takes_the_unit_and_finds_it_hardened(self):
        unit = (ROOT / "deploy" / "systemd" / "tocsin.service").read_text()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "tocsin.service")
            path.write_text(unit.replace("/usr/bin/tocsin", os.environ["TOCSIN"]))
            for command in (["verify"], ["security", "--offline=true", "--threshold=15"]):
                done = subprocess.run(["systemd-analyze", *command, path], capture_output=True, text=True, timeout=60)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertNotIn("Unknown", done.stderr)
        # It runs what is installed, and what is refused is not tried again: the exit status is the program's own.
        self.assertIn("\nExecStart=/usr/bin/tocsin run --config /etc/tocsin/tocsin.yml\n", unit)
        self.assertIn("\nRestartPreventExitStatus=2\n", unit)

    def test_the_composed_services_get_configurations_that_they_take(self):
        text = (ROOT / "deploy" / "compose.yml").read_text()
        contents = {name: textwrap.dedent(block) for name, block in
                    re.findall(r"^  (\w+):\n    content: \|\n((?:      .*\n)+)", text[text.index("\nconfigs:\n"):], re.M)}
        self.assertEqual(set(contents), {"tocsin", "alertmanager", "prometheus"})
        with tempfile.TemporaryDirectory() as folder:
            for name, content in contents.items():
                pathlib.Path(folder, f"{name}.yml").write_text(content)
            shutil.copy(PROMETHEUS / "tocsin.rules.yml", folder)
            for command in ([os.environ["TOCSIN"], "config", "check", "tocsin.yml"], ["amtool", "check-config", "alertmanager.yml"],
                            ["promtool", "check", "config", "prometheus.yml"]):
                done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_composed_services_name_files_ports_and_services_that_there_are(self):
        text = (ROOT / "deploy" / "compose.yml").read_text()
        for path in re.findall(r"[ \"](\./[\w./-]+):/", text):
            self.assertTrue((ROOT / "deploy" / path).exists(), path)
        self.assertTrue((ROOT / re.search(r"dockerfile: (\S+)}", text)[1]).exists())
        services = set(re.findall(r"^  ([\w-]+):$", text[text.index("\nservices:\n"):text.index("\nvolumes:\n")], re.M))
        self.assertEqual(services, {"kafka", "topics", "tocsin", "alertmanager", "prometheus", "grafana"})
        self.assertLessEqual(set(re.findall(r"(?:kafka://|http://|[\[\"])(kafka|tocsin|alertmanager|prometheus|grafana|\w+):\d+", text)) - services,
                             {"127"})
        for port in re.findall(r"ports: \[\"([^\"]+)\"\]", text):
            self.assertTrue(port.startswith("127.0.0.1:"), port)

    def test_the_container_has_the_libraries_that_the_program_is_linked_with(self):
        containerfile = (ROOT / "deploy" / "container" / "Containerfile").read_text()
        linked = subprocess.run(["ldd", os.environ["TOCSIN"]], capture_output=True, text=True, timeout=60, check=True).stdout
        needed = [name for name in re.findall(r"^\s*(\S+) =>", linked, re.M)
                  if re.match(r"lib(fmt|lua|prometheus|rdkafka|re2|simdjson|ssl|crypto|hs|xxhash|yaml|boost|spdlog|unwind|absl)", name)]
        self.assertGreater(len(needed), 8)
        for name in needed:
            package = subprocess.run(["dpkg", "-S", f"*/{name}"], capture_output=True, text=True, timeout=60).stdout.split(":")[0]
            self.assertRegex(containerfile, rf"[ \n]{re.escape(package)}[ \n]", name)
        for path in re.findall(r"^COPY ([\w./]+) ", containerfile, re.M):
            self.assertTrue((ROOT / path).exists(), path)


def amtool(*arguments):
    done = subprocess.run(["amtool", *map(str, arguments)], capture_output=True, text=True, timeout=60, cwd=ALERTMANAGER)
    assert done.returncode == 0, done.stderr
    return done.stdout


ALERT = {
    "status": "firing",
    "labels": {"alertname": "collective_hang", "severity": "critical", "family": "C2", "job_id": "llama", "rank": "3", "node": "n1"},
    "annotations": {"summary": "llama, rank 3 on n1: The job hangs in a collective",
                    "description": "Shows: rank 3 has not launched <all_reduce>\nImplies: it is stopped\nCannot decide: by whom",
                    "culprits": "rank 3 on n1", "runbook_url": "http://runbooks.example/C2"},
    "startsAt": "2026-05-28T20:26:40Z", "endsAt": "0001-01-01T00:00:00Z",
    "generatorURL": "http://tocsin.example/#alert=1", "fingerprint": "1"}


def rendered(name, kind="text", **changes):
    alert = json.loads(json.dumps(ALERT))
    alert["annotations"].update(changes.pop("annotations", {}))
    data = {"receiver": "slack", "status": changes.pop("status", "firing"), "alerts": [alert] * changes.pop("count", 1),
            "groupLabels": {"cluster": "west", "job_id": "llama"}, "commonLabels": alert["labels"], "commonAnnotations": {},
            "externalURL": "http://alertmanager.example"}
    for one in data["alerts"]:
        one["status"] = data["status"]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(data, file)
        file.flush()
        return amtool("template", "render", "--template.glob=templates/*.tmpl", f"--template.type={kind}",
                      f'--template.text={{{{ template "{name}" . }}}}', f"--template.data={file.name}")


class Templates(unittest.TestCase):
    def test_a_title_says_what_is_wrong_with_which_job(self):
        self.assertEqual(rendered("tocsin.title"), "[FIRING 1] critical llama (west): collective_hang")
        self.assertEqual(rendered("tocsin.title", status="resolved"), "[RESOLVED] critical llama (west): collective_hang")
        self.assertEqual((rendered("tocsin.color"), rendered("tocsin.color", status="resolved")), ("danger", "good"))
        self.assertEqual(rendered("tocsin.link"), "http://tocsin.example/#alert=1")

    def test_a_message_to_slack_has_the_three_parts_and_the_links(self):
        self.assertEqual(rendered("tocsin.slack.text"), """*llama, rank 3 on n1: The job hangs in a collective*
Shows: rank 3 has not launched &lt;all_reduce&gt;
Implies: it is stopped
Cannot decide: by whom
Who: rank 3 on n1
<http://runbooks.example/C2|Runbook> <http://tocsin.example/#alert=1|Evidence>
since 2026-05-28 20:26:40 UTC

""")

    def test_a_message_of_many_ranks_shows_ten_and_says_how_many_there_are(self):
        text = rendered("tocsin.slack.text", count=100)
        self.assertEqual(text.count("Shows:"), 10)
        self.assertTrue(text.endswith("and more: 100 in all"))

    def test_a_mail_says_why_an_alert_ended(self):
        self.assertIn("\nResolved: explained by node_down\n",
                      rendered("tocsin.mail.text", status="resolved", annotations={"resolved": "explained by node_down"}))

    def test_a_mail_in_html_escapes_what_a_log_printed(self):
        html = rendered("tocsin.mail.html", kind="html", annotations={"summary": "<script>alert(1)</script>"})
        self.assertIn("&lt;script&gt;", html)
        self.assertNotIn("<script>", html)
        self.assertIn('<a href="http://runbooks.example/C2">Runbook</a>', html)


class Routes(unittest.TestCase):
    def test_the_configuration_is_valid_and_alerts_go_where_they_should(self):
        amtool("check-config", "alertmanager.yml")
        for labels, receiver in ((["severity=critical"], "slack-and-mail"), (["severity=warning"], "slack"), (["severity=info"], "none"),
                                 (["severity=critical", "mode=canary"], "none")):
            self.assertEqual(amtool("config", "routes", "test", "--config.file=alertmanager.yml", *labels).strip(), receiver)

    def test_inhibition_in_a_real_alertmanager(self):
        # The rules as they are shipped, with a receiver that sends nothing.
        text = (ALERTMANAGER / "alertmanager.yml").read_text()
        rules = text[text.index("inhibit_rules:"):text.index("receivers:")]
        with Alertmanager(configuration="route: {receiver: none, group_wait: 0s}\nreceivers: [{name: none}]\n" + rules) as server:
            def alert(name, **labels):
                return {"labels": {"alertname": name, "cluster": "west", **labels}}
            posted = [alert("collective_hang", severity="critical", job_id="a", family="C2", node="n1"),
                      alert("straggler", severity="warning", job_id="a", family="D3", node="n1"),
                      alert("straggler", severity="warning", job_id="b", family="D3", node="n1"),
                      alert("throttle", severity="warning", job_id="c", family="B3", node="n2"),
                      alert("node_down", severity="warning", job_id="cluster", family="F1", node="n2"),
                      alert("spike", severity="warning", job_id="d", family="E1"),
                      # a canary, the cluster, and what is about no job
                      alert("new_rule", severity="critical", job_id="e", family="C3", mode="canary"),
                      alert("straggler", severity="warning", job_id="e", family="D3"),
                      alert("gpu_xids_in_jobs", severity="critical", job_id="cluster", family="B2", node="n7", gpu="0"),
                      alert("gpu_errors_in_jobs", severity="warning", job_id="cluster", family="B2", node="n8", gpu="1"),
                      alert("TocsinPostsNoAlerts", severity="critical", instance="b"),
                      alert("TocsinNodeSlowInJobs", severity="warning", node="n9"),
                      alert("NodeUnreachable", severity="critical", node="n2")]
            request = urllib.request.Request(f"{server.url}/api/v2/alerts", json.dumps(posted).encode(), {"Content-Type": "application/json"})
            urllib.request.urlopen(request, timeout=10).close()

            def muted():
                states = {(a["labels"].get("job_id"), a["labels"]["alertname"]): a["status"]["state"] for a in server.alerts()}
                if len(states) < len(posted) or "unprocessed" in states.values():
                    return None
                return {key for key, state in states.items() if state == "suppressed"}
            expected = {("a", "straggler"), ("c", "throttle")}
            wait_for(lambda: muted() == expected, 20, "inhibition of just what is explained")


if __name__ == "__main__":
    unittest.main()
