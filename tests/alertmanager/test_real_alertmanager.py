"""Posting alerts to a real Alertmanager."""

import unittest

from poster import Poster, wait_for

from tests.servers.alertmanager import Alertmanager


class Real(unittest.TestCase):
    def test_a_firing_alert_is_seen_with_labels_and_annotations_and_its_end_ends_it(self):
        with Alertmanager() as server, Poster("--label", "cluster=west", "--external-url", "http://tocsin.example:9464",
                                              "--runbook-url", "http://runbooks.example/{rule}", server.url) as poster:
            poster("fire", 1, 3)
            poster("fire", 2, 5)
            self.assertEqual(poster("drain", 5000), "drained")
            alert = wait_for(lambda: server.alerts(rank="3"))[0]
            self.assertEqual(alert["labels"], {"alertname": "straggler", "cluster": "west", "family": "D3", "job_id": "llama", "node": "n1",
                                               "rank": "3", "severity": "warning"})
            self.assertEqual(alert["annotations"]["summary"], "llama, rank 3 on n1: One rank is slower than its peers")
            self.assertIn("\nseen: rank 3 computes 0.24 s a step", alert["annotations"]["description"])
            self.assertIn("\ndo: drain n1", alert["annotations"]["description"])
            self.assertEqual(alert["annotations"]["runbook_url"], "http://runbooks.example/straggler")
            self.assertEqual(alert["generatorURL"], "http://tocsin.example:9464/#alert=0000000000000001")
            poster("resolve", 1)
            self.assertEqual(poster("drain", 5000), "drained")
            wait_for(lambda: not server.alerts(rank="3"))
            self.assertEqual(len(server.alerts(rank="5")), 1)

    def test_an_alertmanager_that_was_restarted_gets_what_fires_by_a_repeat(self):
        with Alertmanager() as server, Poster("--resend", 500, server.url) as poster:
            poster("fire", 1, 3)
            wait_for(lambda: server.alerts(rank="3"))
            server.restart()
            wait_for(lambda: server.alerts(rank="3"))
            self.assertEqual(poster.status()["dropped"], 0)

    def test_what_fired_and_resolved_while_it_was_down_is_right_when_it_is_back(self):
        with Alertmanager() as server, Poster("--resend", 1000, server.url) as poster:
            poster("fire", 1, 3)
            wait_for(lambda: server.alerts(rank="3"))
            server.stop()
            poster("resolve", 1)
            poster("fire", 2, 5)
            poster.wait_until(lambda s: s["instances"][0]["posts"].get("unreachable"))
            server.start()
            wait_for(lambda: server.alerts(rank="5"))
            self.assertEqual(server.alerts(rank="3"), [])

    def test_the_alert_ends_by_itself_where_the_engine_is_gone(self):
        with Alertmanager() as server:
            with Poster("--resend", 500, server.url) as poster:
                poster("fire", 1, 3)
                wait_for(lambda: server.alerts(rank="3"))
            wait_for(lambda: not server.alerts(rank="3"), 10)

    def test_a_thousand_alerts_arrive_whole(self):
        with Alertmanager() as server, Poster(server.url) as poster:
            poster("flood", 1000)
            self.assertEqual(poster("drain", 30_000), "drained")
            self.assertEqual(len(server.alerts(alertname="straggler")), 1000)
            self.assertEqual(set(poster.instance()["posts"]), {"200"})


if __name__ == "__main__":
    unittest.main()
