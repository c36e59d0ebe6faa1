"""/metrics under promtool, and scraped by a real Prometheus."""

import unittest

from server import Server

from tests.servers.process import wait_for
from tests.servers.prometheus import Prometheus, promtool


class Scrape(unittest.TestCase):
    def test_promtool_is_content_with_the_metrics(self):
        with Server() as server:
            server.get("/nowhere")
            status, headers, text = server.get("/metrics")
            self.assertEqual((status, headers["Content-Type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
            done = promtool("check", "metrics", input=text)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_a_real_prometheus_scrapes_them(self):
        with Server() as server:
            configuration = ("global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: tocsin\n"
                             f"  static_configs: [{{targets: ['127.0.0.1:{server.port}']}}]\n")
            with Prometheus(configuration) as prometheus:
                found = wait_for(lambda: prometheus.query('tocsin_job_step{job_id="llama"}'), 30)
                self.assertEqual(found[0]["value"][1], "1200")
                self.assertEqual(prometheus.query("up")[0]["value"][1], "1")
                odd = prometheus.query('tocsin_job_state{state="running"}')
                self.assertEqual(odd[0]["metric"]["job_id"], 'odd "name"\\ \ufffd\n')


if __name__ == "__main__":
    unittest.main()
