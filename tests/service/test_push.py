"""POST /api/v1/push against a real broker: what is posted is judged, once, and a push is answered when the brokers have it."""

import json
import pathlib
import socket
import sys
import threading
import time
import unittest
import urllib.error
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from service import Workplace, broker, of_job, recorded, small_rules, tocsin, topic, while_it_runs  # noqa: E402
from tests.servers.process import wait_for  # noqa: E402

kafka = None


def setUpModule():
    global kafka
    kafka = broker()


def push(port, lines, query=""):
    """The answer's status, and its data or error."""
    text = lines if isinstance(lines, str) else "".join(json.dumps(line) + "\n" for line in lines)
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/v1/push{query}", data=text.encode(), method="POST")
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.loads(answer.read())["data"]
    except urllib.error.HTTPError as error:
        with error:
            text = error.read().decode()
            return error.code, json.loads(text)["error"] if text.startswith("{") else text


def healthy(service):
    try:
        return service.get("/-/healthy")[0] == 200
    except OSError:    # no connection was free
        return False


class Push(unittest.TestCase):
    def start(self, prefix):
        place = Workplace(kafka, prefix, partitions=2, rules=small_rules)
        self.addCleanup(place.close)
        service = place.instance()
        wait_for(lambda: len(service.partitions()) == 2, 40, "partitions")
        port = wait_for(lambda: next((line.rsplit(" ", 1)[1] for line in list(service.log) if "serving on port" in line), None), 20, "a port")
        return place, service, port

    def exported(self, place, job):
        """The job's records in the topic, as JSON lines."""
        journal = pathlib.Path(place.folder, f"exported-{job}")
        done = tocsin("record", "--kafka", place.address, "--job", job, journal)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [json.loads(line) for line in tocsin("export", journal).stdout.splitlines()]
        return [line for line in lines if line.get("job") == job]

    def test_what_is_posted_is_judged_while_it_comes_and_silence_after_it_is_seen(self):
        place, service, port = self.start("pushed")
        for step in range(1, 13):
            posted = [{"rank": rank, "values": {"step": step, "loss": 3 - step / 100}} for rank in range(2)]
            self.assertEqual(push(port, posted, "?job=pushed"), (200, {"records": 2, "jobs": 1}))
            time.sleep(0.25)
        alerts = lambda: while_it_runs(of_job(topic(place.address, "alerts"), "pushed"))  # noqa: E731
        wait_for(lambda: [one for one in alerts() if '"rule":"quiet"' in one], 40, "an alert on silence")
        self.assertEqual(push(port, [{"job": "pushed", "event": "end", "reason": "completed"}]), (200, {"records": 1, "jobs": 1}))
        time.sleep(2)
        self.assertEqual(alerts(), while_it_runs(recorded(place, "pushed")))
        self.assertEqual(service.stop(), 0)

    def test_a_push_that_is_sent_again_counts_once_and_one_with_a_wrong_line_not_at_all(self):
        place, service, port = self.start("again")
        for _ in range(3):
            self.assertEqual(push(port, [{"line": "once"}], "?job=again&producer=sidecar&sequence=1")[0], 200)
        self.assertEqual(push(port, [{"line": "twice"}] * 2, "?job=again&producer=sidecar&sequence=2")[0], 200)
        for text, query, error in (('{"line":"good"}\n{"lien":"bad"}\n', "?job=again", "line 2: says nothing"), ('{"line":"x"}', "", "line 1: no job"),
                                   ("", "?job=again", "no record: post JSON lines"), ('{"line":"x"}', "?jop=again", "unknown parameter 'jop'"),
                                   ('{"line":"x"}', "?job=again&sequence=3", "producer and sequence belong together")):
            status, why = push(port, text, query)
            self.assertEqual((status, why[:len(error)]), (400, error))
        self.assertEqual(push(port, "x" * (2 << 20), "?job=again")[0], 413)     # http.body_size
        self.assertEqual(service.get("/api/v1/push")[0], 405)
        duplicates = lambda: sum(float(value) for name, value in service.metrics().items() if name.startswith("tocsin_duplicates_total"))  # noqa: E731
        wait_for(lambda: duplicates() == 2, 10, "the count of what was sent again")
        self.assertEqual([line["line"] for line in self.exported(place, "again") if "line" in line], ["once"] * 3 + ["twice"] * 2)
        self.assertEqual(service.stop(), 0)

    def test_a_push_that_the_brokers_do_not_take_says_so_and_the_next_one_waits_for_nobody(self):
        place, service, port = self.start("away")
        self.assertEqual(push(port, [{"line": "before"}], "?job=away")[0], 200)
        kafka.pause()
        self.addCleanup(kafka.resume)
        answers = []
        together = [threading.Thread(target=lambda n=n: answers.append(push(port, [{"line": "meanwhile"}], f"?job=away&producer=p&sequence={n}"))) for n in (1, 2)]
        for one in together:
            one.start()
        time.sleep(0.5)
        crowd = [socket.create_connection(("127.0.0.1", port)) for _ in range(300)]     # more than http.connections
        for one in crowd:
            self.addCleanup(one.close)
            one.sendall(b'POST /api/v1/push?job=away HTTP/1.1\r\nHost: localhost\r\nContent-Length: 16\r\n\r\n{"line":"crowd"}')
        # For a moment none of the connections is free: those that are refused have not read their answers. The others wait for 10 s.
        wait_for(lambda: healthy(service), 5, "an answer to a probe")
        self.assertEqual(push(port, [{"line": "one more"}], "?job=away"), (503, "too many pushes wait for the log: push again later"))
        for one in together:
            one.join()
        self.assertEqual([status for status, _ in answers], [503, 503])
        self.assertTrue(any("push it again with the same producer and sequence" in why for _, why in answers), answers)
        self.assertEqual(push(port, [{"line": "later"}], "?job=away"), (503, "the log takes nothing: push again later"))
        self.assertEqual(push(port, "{", "?job=away")[0], 400)
        kafka.resume()
        wait_for(lambda: push(port, [{"line": "after"}], "?job=away")[0] == 200, 30, "brokers that take it")
        lines = [line["line"] for line in self.exported(place, "away") if "line" in line]
        self.assertEqual((lines[0], lines[-1], lines.count("later")), ("before", "after", 0), lines)


if __name__ == "__main__":
    unittest.main()
