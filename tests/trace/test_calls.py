"""Calls of stub libraries under NVIDIA's names: every count is exact, over threads, processes, forks and execs."""

import os
import unittest

from probed import Caller, Probe, skip_without, until

UNLIMITED = "1e12"


def counts(one):
    return [one["launched"], one["peer_launched"], one["kernel_launches"], one["copies"], one["bytes"]]


def expected(times):
    return [2 * times, times, 2 * times, 2 * times, [100 * times, 10 * times, 0]]


class Calls(unittest.TestCase):
    def setUp(self):
        self.probe = Probe(UNLIMITED)
        self.addCleanup(self.probe.close)

    def caller(self):
        caller = Caller(self)
        self.assertEqual(caller.ask("ready"), ["ok"])
        self.probe.look([caller.pid])
        return caller

    def test_a_million_calls_of_threads_and_processes_are_counted_exactly(self):
        threads, times, processes = 4, 20_000, 2
        callers = [self.caller() for _ in range(processes)]
        for caller in callers:
            caller.ask("comm", 1, 8)
            caller.send("run", threads, times)
        for caller in callers:
            caller.answer()
        children = []
        for caller in callers:      # and a child of each, that has what it inherited
            caller.send("fork", threads, 500)
            children.append(int(caller.answer()[1]))
        self.probe.look([caller.pid for caller in callers] + children)
        traces = self.probe.read()
        for caller in callers:
            self.assertEqual(counts(traces[caller.pid]), expected(threads * times))
        for child in children:
            self.assertEqual(counts(traces[child]), expected(threads * 500))
            self.assertFalse(traces[child]["complete"])      # it has not made its communicator
            os.kill(child, 9)
        self.assertGreater(sum(processes * 7 * n for n in (threads * times, threads * 500)), 1_000_000)
        self.assertEqual(self.probe.notes, [])

    def test_an_exec_and_a_process_that_gets_the_same_files_begin_at_zero(self):
        caller = self.caller()
        caller.ask("comm", 0, 2)
        caller.ask("run", 2, 300)
        self.assertEqual(counts(self.probe.one(caller.pid)), expected(600))
        caller.send("exec")
        caller.ask("comm", 0, 2)
        caller.ask("run", 1, 20)
        self.assertEqual(counts(self.probe.one(caller.pid)), expected(20))
        other = self.caller()
        other.ask("comm", 0, 2)
        other.ask("run", 1, 7)
        self.assertEqual(counts(self.probe.one(other.pid)), expected(7))

    def test_communicators_have_rank_size_and_a_name_that_is_equal_in_their_ranks(self):
        ranks = [self.caller(), self.caller()]
        for rank, caller in enumerate(ranks):
            caller.ask("comm", rank, 2)
            caller.ask("comm", rank, 2)
            caller.ask("split", 3)
            caller.ask("split", 3)
            caller.ask("split", -1)
            caller.ask("each")
            caller.ask("run", 1, 5)
        traces = [self.probe.one(caller.pid) for caller in ranks]
        names = [{group["name"] for group in trace["groups"]} for trace in traces]
        self.assertEqual(names[0], names[1])
        self.assertEqual(len(names[0]), 4)
        for rank, trace in enumerate(traces):
            used = [group for group in trace["groups"] if group["launched"] > 1]
            self.assertEqual([(group["rank"], group["size"], group["launched"], group["functions"]) for group in used],
                             [(rank, 2, 11, {"all_reduce": 6, "reduce": 5, "send": 5})])
            self.assertTrue(trace["complete"])
            self.assertNotIn("done", trace)       # NCCL does not say
        caller = ranks[0]
        caller.ask("all", 3)
        caller.ask("each")
        groups = self.probe.one(caller.pid)["groups"]
        self.assertEqual(sorted(group["rank"] for group in groups if group["size"] == 3), [0, 1, 2])
        caller.ask("destroy")
        self.assertEqual(len(self.probe.one(caller.pid)["groups"]), 6)

    def test_each_call_is_known_by_its_name_and_counted_once(self):
        caller = self.caller()
        caller.ask("attach")
        self.assertTrue(self.probe.one(caller.pid)["attached"])
        caller.ask("comm", 0, 4)
        caller.ask("odd")
        one = self.probe.one(caller.pid)
        self.assertEqual(one["groups"][0]["functions"], {"all_reduce": 1, "all_gather": 1, "broadcast": 1})
        self.assertEqual(one["groups"][0]["last"], "broadcast 7 x int64, root 2")
        self.assertEqual([one["kernel_launches"], one["graph_launches"], one["allocations"], one["copies"], one["bytes"]],
                         [2, 1, 1, 2, [0, 1200, 1000]])

    def test_a_thread_in_a_synchronisation_is_seen_once_the_place_is_known(self):
        caller = self.caller()
        caller.send("wait")
        until(lambda: self.probe.one(caller.pid).get("waits") == 1, "the call")
        caller.send("")
        self.assertEqual(caller.answer(), ["ok"])
        self.assertNotIn("waiting", self.probe.one(caller.pid))     # its end was not seen
        caller.send("wait")
        waiting = until(lambda: self.probe.one(caller.pid).get("waiting"), "the wait")
        self.assertEqual(waiting["function"], "cuStreamSynchronize")
        until(lambda: self.probe.one(caller.pid)["waiting"]["open"] > waiting["open"], "a longer wait")
        caller.send("")
        self.assertEqual(caller.answer(), ["ok"])
        one = self.probe.one(caller.pid)
        self.assertNotIn("waiting", one)
        self.assertGreaterEqual(one["waited"], waiting["open"])

    def test_a_process_that_has_gone_leaves_nothing(self):
        caller = self.caller()
        caller.ask("comm", 0, 2)
        caller.ask("run", 1, 5)
        self.assertEqual(self.probe.one(caller.pid)["launched"], 10)
        caller.end()
        self.assertEqual(self.probe.one(caller.pid), {})


class OneByOne(unittest.TestCase):
    def test_probes_that_are_set_as_kernels_before_linux_6_6_want_them_count_the_same(self):
        probe = Probe(UNLIMITED, "alone")
        self.addCleanup(probe.close)
        if probe.error:
            self.skipTest(probe.error)
        caller = Caller(self)
        caller.ask("ready")
        probe.look([caller.pid])
        caller.ask("attach")
        caller.ask("comm", 1, 2)
        caller.ask("run", 4, 1000)
        caller.ask("odd")
        one = probe.one(caller.pid)
        self.assertEqual(one["launched"], 8003)
        self.assertEqual([(group["rank"], group["size"], group["complete"]) for group in one["groups"]], [(1, 2, True)])
        self.assertEqual([one["kernel_launches"], one["copies"], one["attached"]], [8002, 8002, True])


class Budget(unittest.TestCase):
    def test_calls_over_the_budget_end_their_probes_alone_and_a_note_says_so(self):
        probe = Probe("2000")
        self.addCleanup(probe.close)
        caller = Caller(self)
        caller.ask("ready")
        probe.look([caller.pid])
        caller.ask("comm", 0, 2)

        def stopped():
            caller.ask("run", 1, 3000)
            one = probe.one(caller.pid)
            return one if len(one.get("stopped", [])) == 3 else None

        one = until(stopped, "the end of the probes")
        self.assertEqual(sorted(one["stopped"]), ["cuLaunchKernel", "cuMemcpy", "nccl"])
        self.assertEqual(len(probe.notes), 3)
        self.assertIn(f"process {caller.pid} calls cuLaunchKernel", " ".join(probe.notes))
        self.assertEqual(one["groups"], [])
        before = one["kernel_launches"]
        caller.ask("run", 1, 3000)
        caller.ask("odd")
        one = probe.one(caller.pid)
        self.assertEqual([one["kernel_launches"] - before, one["allocations"]], [0, 1])


if __name__ == "__main__":
    skip_without(probe := Probe())
    probe.close()
    unittest.main()
