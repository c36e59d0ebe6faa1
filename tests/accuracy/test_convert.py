"""Recordings of other systems become our JSON lines: with the right members and times, and without their labels."""

import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench" / "accuracy"))
from corpus import discover, prefixes, stamps  # noqa: E402
from corpus.records import SECOND  # noqa: E402

START = 1_800_000_000 * SECOND


class Folder(unittest.TestCase):
    """A corpus folder of our own making, and what it becomes."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = Path(temporary.name) / "corpora"
        self.root.mkdir()

    def put(self, name, content):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, list):
            content = "".join(json.dumps(entry) + "\n" for entry in content)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")

    def converted(self):
        """{item id: (item, records in order)}"""
        result = {}
        for item, recording in discover.items(self.root):
            path = self.root.parent / "out.jsonl"
            recording.write(path)
            result[item.id] = item, [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]
        return result

    def only(self):
        (pair,) = self.converted().values()
        return pair


class Runs(Folder):
    def put_run(self, **label):
        self.put("runs/r1/meta.json", {
            "run_id": "r1", "job_id": "77", "world_size": 2, "start": START, "args": {"seed": 424242},
            "ranks": [{"rank": rank, "pid": 10 + rank, "node": f"n{rank}", "attempt": 1, "start": START} for rank in (0, 1)],
            "label": {"family": "C2", "fault_time": 1800000012.5, "culprit_ranks": [1], "must_not_fire": ["E1"],
                      "acceptable": ["C3"], "variant": "secret_variant", **label},
            "injection": {"hooks": {"what": "secret_injection"}}})
        self.put("runs/r1/events.jsonl", [
            {"t": START - 5, "source": "slurm", "event": "node_state", "node": "n0", "state": "IDLE+DRAIN", "attempt": 1},
            {"t": START, "source": "slurm", "event": "job_start", "attempt": 1, "world_size": 2, "partition": "p"},
            {"t": START + 30 * SECOND, "source": "slurm", "event": "cancel_requested", "attempt": 1, "reason": "by hand"},
            {"t": START + 31 * SECOND, "source": "slurm", "event": "job_end", "attempt": 1, "state": "CANCELLED", "signal": 15},
            {"t": START + 32 * SECOND, "source": "slurm", "event": "job_end", "attempt": 1, "state": "CANCELLED", "signal": 9}])
        self.put("runs/r1/metrics.jsonl", [
            {"t": START + SECOND, "rank": 1, "attempt": 1, "cpu_user_ratio": 0.2, "cpu_system_ratio": 0.1,
             "state": "disk-sleep", "wchan": "pipe_read", "rss_bytes": 5, "coll_launched": 9, "coll_done": 8},
            {"t": START + SECOND, "rank": 0, "attempt": 1, "state": "running"}])
        self.put("runs/r1/steps.jsonl", [
            {"t": START + 2 * SECOND, "rank": 0, "attempt": 1, "step": 4, "step_time_s": 0.5, "compute_time_s": 0.3,
             "data_wait_s": 0.1, "comm_wait_s": 0.1}])
        self.put("runs/r1/logs/rank0.out", [
            {"t": START + 1, "stream": "stdout", "rank": 0, "attempt": 1, "text": "10%", "eol": "\r"},
            {"t": START + 3, "stream": "stdout", "rank": 0, "attempt": 1, "text": "20%"}])
        self.put("runs/r1/logs/launcher.log", [{"t": START + 2, "stream": "stderr", "attempt": 1, "text": "hello"}])

    def test_a_run_starts_with_its_attempt_and_its_members(self):
        self.put_run()
        _, records = self.only()
        self.assertEqual(records[0]["event"], "start")
        self.assertEqual(records[0]["world_size"], 2)
        self.assertEqual([(record["rank"], record["node"]) for record in records[1:3]], [(0, "n0"), (1, "n1")])
        self.assertEqual({record["job"] for record in records}, {"77"})

    def test_no_label_and_no_injection_is_in_a_record(self):
        self.put_run()
        item, records = self.only()
        text = json.dumps(records)
        for secret in ("secret", "fault", "C2", "424242", "culprit"):
            self.assertNotIn(secret, text)
        self.assertEqual((item.family(), item.culprit_ranks, item.fault_time), ("C2", [1], 1800000012.5))

    def test_figures_of_processes_and_steps_take_our_names(self):
        self.put_run()
        _, records = self.only()
        sampled = {record["rank"]: record["values"] for record in records if record.get("source") == "sampler" and "values" in record}
        self.assertEqual(sampled[1], {"process_cpu": 0.3, "process_state": "disk_sleep", "process_rss": 5,
                                      "wait_channel": "pipe_read", "collective_launched": 9, "collective_done": 8})
        self.assertEqual(sampled[0], {"process_state": "running"})
        (steps,) = [record["values"] for record in records if record.get("source") == "profiler" and "values" in record]
        self.assertEqual(steps, {"step": 4, "step_time": 0.5, "compute_time": 0.3, "data_time": 0.1, "comm_time": 0.1})

    def test_pieces_that_end_in_a_carriage_return_are_lines_of_their_own(self):
        self.put_run()
        _, records = self.only()
        lines = {record["line"]: record for record in records if "line" in record}
        self.assertIn("10%", lines)
        self.assertEqual(lines["20%"]["t"], START + 3)
        self.assertNotIn("rank", lines["hello"])

    def test_an_attempt_ends_once_and_node_states_take_our_words(self):
        self.put_run()
        _, records = self.only()
        (end,) = [record for record in records if record.get("event") == "end"]
        self.assertEqual((end["reason"], end["signal"]), ("cancelled", 15))
        (state,) = [record for record in records if record.get("signal") == "node_state"]
        self.assertEqual((state["value"], state["t"]), ("drain", START))

    def test_coverage_lasts_to_the_end_of_a_collector(self):
        self.put_run()
        _, records = self.only()
        covered = [record["t"] for record in records if record.get("coverage") == "log"]
        self.assertEqual((covered[0], covered[-1]), (START, START + 31 * SECOND))
        self.assertLessEqual(max(b - a for a, b in zip(covered, covered[1:])), 30 * SECOND)

    def test_absent_files_are_absent_data(self):
        self.put("runs/r2/meta.json", {"world_size": 1, "start": START, "label": {"family": "G1"},
                                       "ranks": [{"rank": 0, "start": START}]})
        item, records = self.only()
        self.assertEqual(item.id, "runs-r2")
        self.assertEqual([record["event"] for record in records], ["start"])


class Logs(Folder):
    def put_log(self, text, family="A1"):
        self.put("logs/labels.csv", f"file,class,family,source\nk/1.log,k,{family},https://x.invalid/y\n")
        self.put("logs/k/1.log", "# source: https://x.invalid/y\n" + text)

    def test_lines_of_a_log_without_times_are_a_second_apart_and_of_one_rank(self):
        self.put_log("first\nsecond\n")
        item, records = self.only()
        lines = [record for record in records if "line" in record]
        self.assertEqual([record["line"] for record in lines], ["first", "second"])
        self.assertEqual(lines[1]["t"] - lines[0]["t"], SECOND)
        self.assertFalse(item.timed)
        self.assertEqual({record["rank"] for record in lines}, {0})
        self.assertNotIn("k", item.job.removeprefix("job-"))
        self.assertEqual(records[0]["coverage"], "log")

    def test_times_in_the_lines_count(self):
        self.put_log("start\n[2026-11-21 02:14:43] a\nb\n[2026-11-21 02:15:43] c\n")
        item, records = self.only()
        times = [record["t"] for record in records if "line" in record]
        self.assertEqual([t - times[0] for t in times], [0, SECOND, 31 * SECOND, 61 * SECOND])
        self.assertTrue(item.timed)

    def test_what_a_bar_writes_over_itself_are_lines_of_their_own(self):
        self.put_log("1/3\r2/3\r3/3\ndone\n")
        _, records = self.only()
        self.assertEqual([record["line"] for record in records if "line" in record], ["1/3", "2/3", "3/3", "done"])

    def test_a_log_says_what_it_seems_to_print(self):
        self.put_log("".join(f"step {n} loss 2.{n}\n" for n in range(4)), "G1")
        self.assertEqual(self.only()[0].prints, ["step", "loss"])
        self.put_log("".join(f"line {n}\n" for n in range(4)), "G1")
        self.assertEqual(self.only()[0].prints, [])

    def test_a_label_of_several_families_lies_with_the_first(self):
        self.put_log("x\n", family="B2?/A1")
        item, _ = self.only()
        self.assertEqual(item.family(), "B2")

    def test_a_job_output_is_labelled_by_the_scheduler_and_by_excerpts_of_it(self):
        self.put("logs/labels.csv", "file,class,family,source\nk/1.log,k,E1,https://x.invalid/a.out\n")
        self.put("outputs/a.out", "iteration 1\n")
        self.put("outputs/b.out", "slurmstepd: error: *** JOB 5 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***\n")
        items = {item.id: item.label for item, _ in self.converted().values()}
        self.assertEqual(items, {"bigscience-a": "E1", "bigscience-b": "F3"})


class Figures(Folder):
    def test_a_loss_curve_takes_its_time_from_its_steps(self):
        self.put("megatron/a.csv", "step,lm_loss,iteration_time_s\n1,9.5,\n5,9.0,2.0\n10,8.5,2.0\n")
        item, records = self.only()
        points = [(record["t"], record["values"]) for record in records if "values" in record]
        self.assertEqual([values["step"] for _, values in points], [1, 5, 10])
        self.assertEqual(points[2][0] - points[1][0], 10 * SECOND)
        self.assertNotIn("step_time", points[0][1])
        self.assertEqual(item.label, "G1")

    def test_flight_recorder_counts_are_compared_within_groups(self):
        def dump(rank, launched):
            groups = {"0": {"desc": "default_pg", "ranks": "[0, 1, 2]"}}
            status = {"0": {"last_enqueued_collective": launched, "last_completed_collective": 6}}
            if rank == 2:  # a group of its own makes its total larger, though it is behind
                groups["7"] = {"desc": "other", "ranks": "[2]"}
                status["3"] = {"last_enqueued_collective": 50, "last_completed_collective": 50}
            entries = [{"time_created_ns": START, "pg_id": 0, "process_group": ["0", "default_pg"], "state": "scheduled"}]
            return {"pg_config": groups, "pg_status": status, "entries": entries}

        for rank, launched in ((0, 7), (1, 7), (2, 6)):
            self.put(f"flight_recorder/x/_dump_{rank}.json", dump(rank, launched))
        self.put("flight_recorder/x/fault_injection.log", "Rank 2, fault_type: X\n")
        item, records = self.only()
        last = {record["rank"]: record["values"] for record in records if "values" in record}
        self.assertEqual([last[rank]["collective_launched"] for rank in (0, 1, 2)], [56, 56, 55])
        self.assertEqual({last[rank]["collective_done"] for rank in (0, 1, 2)}, {55})
        self.assertEqual(item.culprit_ranks, [2])
        self.assertGreaterEqual(records[-1]["t"] - START, 120 * SECOND)

    def test_a_query_of_gpus_is_held(self):
        gpu = ("GPU 00000000:{bus}:00.0\n    Utilization\n        Gpu                               : {busy} %\n"
               "    Power Readings\n        Power Draw                        : 85.5 W\n")
        self.put("hang/query.txt", "\n====NVSMI LOG====\n\nTimestamp                                 : Sat Mar  4 04:55:00 2023\n"
                 + gpu.format(bus="07", busy=0) + gpu.format(bus="0B", busy=100))
        _, records = self.only()
        members = [(record["rank"], record["gpu"]) for record in records if record.get("event") == "member"]
        self.assertEqual(members, [(0, "00000000:07:00.0"), (1, "00000000:0B:00.0")])
        last = {record["rank"]: record["values"] for record in records if "values" in record}
        self.assertEqual(last, {0: {"gr_engine_active": 0.0, "gpu_power": 85.5}, 1: {"gr_engine_active": 1.0, "gpu_power": 85.5}})
        self.assertGreater(records[-1]["t"] - records[0]["t"], 300 * SECOND)

    def test_gauges_of_a_scrape_keep_their_own_names(self):
        self.put("xpu_timer/hang_x.prom", 'A_HANG{rank="1",ip="h"} 1\nA_HANG{rank="0",ip="h"} 0\nK{rank="0",kernel="m"} 3\nB 2\n')
        item, records = self.only()
        last = {record["rank"]: record["values"] for record in records if "values" in record}
        self.assertEqual(last, {0: {"A_HANG": 0.0}, 1: {"A_HANG": 1.0}})
        self.assertEqual(item.label, "C2")

    def test_power_readings_belong_to_nodes(self):
        line = ':::MLLOG {"namespace": "", "time_ms": 1715960308411, "event_type": "POINT_IN_TIME", "key": "power_reading", "value": 4316}\n'
        self.put("mlperf/power/node_1.txt", line)
        _, records = self.only()
        (sample,) = [record for record in records if "values" in record]
        self.assertEqual((sample["node"], sample["values"], sample["t"]),
                         ("node_1", {"node_power": 4316.0}, 1715960308411000000))


class Prefixes(unittest.TestCase):
    def test_prefixes_of_launchers_name_ranks(self):
        lines = ["[rank3]: a", "[default7]:b", "(pretraining, pid=4) [rank1]: c", "launcher", "7: [rank2]: d",
                 "[2026-01-01 00:00:00,000] [INFO] [x.py:1:f] [Rank 5] e"]
        self.assertEqual(prefixes.ranks_of(lines), [3, 7, 1, None, 2, 5])

    def test_task_numbers_are_believed_where_most_lines_have_them(self):
        self.assertEqual(prefixes.ranks_of([" 0: a", "11: b", "11: c", "x"]), [0, 11, 11, None])
        self.assertEqual(prefixes.ranks_of(["a", "b", "3: c", "d"]), [0, 0, 0, 0])

    def test_a_few_lines_about_ranks_do_not_make_a_job_of_those_ranks(self):
        self.assertEqual(set(prefixes.ranks_of(["x"] * 30 + ["[Rank 33] memory", "[Rank 2] memory"])), {0})

    def test_the_rest_of_a_record_stays_with_its_rank(self):
        self.assertEqual(prefixes.ranks_of(["[rank0]: a", "[rank1]: b", "  more of b", "c"]), [0, 1, 1, None])


class Stamps(unittest.TestCase):
    def at(self, text):
        return stamps.stamp(text, 2026)[1] / SECOND

    def test_stamps_of_many_systems(self):
        self.assertEqual(self.at("[2026-11-21 02:14:43] x"), 1795227283)
        self.assertEqual(self.at("kern  :warn  : 2026-11-21T02:14:43,5+00:00 x"), 1795227283.5)
        self.assertEqual(self.at("2026-11-21T03:14:43+01:00 x"), 1795227283)
        self.assertEqual(self.at("[Sat Nov 21 02:14:43 2026] x"), 1795227283)
        self.assertEqual(self.at("Nov 21 02:14:43 host kernel: x"), 1795227283)
        self.assertEqual(self.at("[rank0]:[E1121 02:14:43.500000000 a.cpp:1] x"), 1795227283.5)
        self.assertEqual(self.at("[INFO|trainer.py:1] 2026-11-21 02:14:43,000 >> x"), 1795227283)
        self.assertEqual(self.at("[   12.500000] x") - self.at("[   10.000000] x"), 2.5)

    def test_a_long_number_behind_a_time_is_no_year(self):
        self.assertEqual(stamps.calendar_time(dict(mon="Apr", d="8", h="3", mi="37", s="3", f="834962"), 2026),
                         stamps.stamp("Apr 08 03:37:03.834962 3444994 trainer.py:12] step 4", 2026)[1])

    def test_a_time_within_prose_is_no_stamp(self):
        self.assertIsNone(stamps.stamp("the job was cancelled, it seems, on 2026-11-21 02:14:43", 2026))
        self.assertIsNone(stamps.stamp("loss 2.3 in 00:12:44", 2026))

    def spread(self, *lines):
        times, _ = stamps.times(list(lines))
        return [(t - times[0]) / SECOND for t in times]

    def test_time_does_not_go_back(self):
        self.assertEqual(self.spread("[2026-11-21 02:14:43] a", "[2026-11-21 02:14:40] b", "[2020-01-01 00:00:00] c", "d"), [0, 1, 2, 3])

    def test_lines_between_two_stamps_lie_evenly_and_those_around_them_a_second_apart(self):
        self.assertEqual(self.spread("a", "b", "2026-11-21 02:14:43 c", "d", "2026-11-21 02:14:53 e", "f"), [0, 1, 2, 7, 12, 13])

    def test_the_rest_of_a_record_stays_with_it(self):
        self.assertEqual(self.spread("a", "Traceback (most recent call last):", '  File "x.py", line 3, in f', "    y()", "ValueError: z", "b"),
                         [0, 1, 1, 1, 1, 2])
        self.assertEqual(self.spread("loss is 3", "  of many terms", "", "loss is 2"), [0, 0, 0, 1])

    def test_a_log_that_indents_most_of_its_lines_has_no_records_of_several(self):
        self.assertEqual(self.spread("  step 1", "  step 2", "  step 3", "done"), [0, 1, 2, 3])


if __name__ == "__main__":
    unittest.main()
