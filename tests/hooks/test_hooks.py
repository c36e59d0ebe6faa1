"""adapters/python/tocsin.py: its lines, and that nothing in it can end a training. Its callbacks are in
test_callbacks.py, what needs PyTorch in test_torch.py."""

import collections
import contextlib
import io
import os
import pathlib
import sys
import threading
import time
import types
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from hooks import Hooks, tocsin  # noqa: E402


class Lines(Hooks):
    def test_a_line_has_the_means_of_the_steps_since_the_one_before(self):
        watched = self.watch(step=0)
        self.steps(watched, 1, 9)      # the first step is no measure of the others
        for seconds, waits in ((0.2, 0.1), (0.4, 0.0)):
            watched.data += waits
            self.steps(watched, 1, seconds)
        self.assertEqual(self.out.lines(), ["[rank 0] step 3 | step_time 0.30000 | compute 0.25000 | data 0.05000 | comm 0.00000"])

    def test_what_is_not_known_of_the_step_is_left_out(self):
        self.steps(self.watch(), 2, 0.5)
        self.assertEqual(self.out.lines(), ["[rank 0] step_time 0.50000 | compute 0.50000 | data 0.00000 | comm 0.00000"])

    def test_a_rank_that_is_no_number_is_passed_over(self):
        for text in ("", "two", "-1", "²"):
            with self.subTest(text), mock.patch.dict(os.environ, {"RANK": text, "SLURM_PROCID": "3"}):
                self.steps(self.watch(), 2, 0.5)
                self.assertEqual([line.split(" step_time")[0] for line in self.out.lines()], ["[rank 3]"])
                self.out.clear()

    def test_the_step_of_a_resumed_run_is_that_of_the_optimizers_state(self):
        optimizer = types.SimpleNamespace(state={"weight": {"step": 12001}})
        self.steps(self.watch(), 2, 0.5, None, optimizer)
        self.assertIn("step 12002 |", self.out.getvalue())

    def test_steps_that_are_long_and_short_in_turn_are_measured_alike(self):
        # A loader with two workers gives two batches at once: the other ranks wait in every other step.
        for waits in ((0.0, 0.75), (0.0, 0.045)):
            with self.subTest(waits):
                self.out.clear()
                watched = self.watch()
                watched.parameters = [types.SimpleNamespace(register_hook=lambda _: types.SimpleNamespace(remove=lambda: None))]
                for step in range(4000):
                    self.clock.now += 0.005
                    watched.computed_at = self.clock.now
                    self.clock.now += waits[step % 2]
                    if watched.hooks:
                        watched._reduced()
                    watched.stepped()
                times = [float(line.split("comm ")[1]) for line in self.out.lines()]
                self.assertAlmostEqual(sum(times) / len(times) / (sum(waits) / 2), 1, delta=0.05)

    def test_the_rank_is_that_of_the_launcher(self):
        for name in ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"):
            with mock.patch.dict(os.environ, {name: "5"}):
                self.steps(self.watch(), 2, 0.5)
                self.assertTrue(self.out.lines()[-1].startswith("[rank 5] "))

    def test_many_steps_within_half_a_second_are_one_line(self):
        self.steps(self.watch(), 101, 0.01)
        self.assertEqual(len(self.out.lines()), 2)

    def test_the_time_in_reductions_and_other_collectives_is_communication(self):
        watched = self.watch()
        self.steps(watched, 1, 1)
        watched.hooks = [types.SimpleNamespace(remove=lambda: None)]
        watched.reduced += 0.3
        watched.blocked += 0.1
        self.steps(watched, 1, 1)
        self.assertEqual(self.out.lines(), ["[rank 0] step_time 1.00000 | compute 0.60000 | data 0.00000 | comm 0.40000"])

    def test_an_evaluation_is_no_part_of_a_step(self):
        watched = self.watch(step=7)
        self.steps(watched, 2, 0.3)
        watched.evaluate()
        watched.data += 40            # of the loader of the evaluation
        watched.blocked += 30
        self.clock.now += 100
        watched.evaluate()
        watched.leave_out()
        self.steps(watched, 1, 0.5)
        self.assertEqual(self.out.lines(), ["[rank 0] phase eval", "[rank 0] step 10 | step_time 0.40000 | compute 0.40000 | data 0.00000 | comm 0.00000"])

    def test_the_end_prints_what_was_measured_last_and_nothing_after_it(self):
        watched = self.watch(step=0)
        self.steps(watched, 2, 0.1)
        watched.close()
        self.steps(watched, 9, 1)
        watched.close()
        self.assertEqual(self.out.lines(), ["[rank 0] step 2 | step_time 0.10000 | compute 0.10000 | data 0.00000 | comm 0.00000"])

    def test_counts_are_printed_once_a_second_and_a_rank_in_a_collective_has_not_done_it(self):
        group = types.SimpleNamespace(_get_sequence_number_for_group=lambda: 17)
        fake = types.SimpleNamespace(is_available=lambda: True, is_initialized=lambda: True, get_rank=lambda: 2, group=types.SimpleNamespace(WORLD=group))
        watched = self.watch()
        with mock.patch.dict(sys.modules, {"torch.distributed": fake}):
            watched._look_once(100.0, 0.1)
            watched._look_once(100.5, 0.1)
            watched.computed_at = 100.9
            watched._look_once(101.0, 0.1)
            watched.gpu = True
            watched._look_once(105.0, 0.1)
        self.assertEqual(self.out.lines(), ["[rank 2] collectives launched 17 done 17", "[rank 2] collectives launched 17 done 16"])

    def test_a_thread_within_torch_distributed_waits_in_a_collective(self):
        scope = {"inside": threading.Event(), "leave": threading.Event()}
        exec(compile("def barrier():\n  inside.set()\n  leave.wait(10)\n", "/somewhere/torch/distributed/distributed_c10d.py", "exec"), scope)
        watched = self.watch()
        thread = threading.Thread(target=scope["barrier"])
        thread.start()
        scope["inside"].wait(10)
        watched.thread = thread.ident
        for _ in range(500):           # it may not have come to its wait yet
            if watched._in_collective():
                break
            time.sleep(0.01)
        within = watched._in_collective()
        scope["leave"].set()
        thread.join()
        self.assertTrue(within)
        watched.thread = threading.get_ident()
        self.assertFalse(watched._in_collective())


class Safety(Hooks):
    def setUp(self):
        super().setUp()
        self.errors = io.StringIO()
        redirected = contextlib.redirect_stderr(self.errors)
        redirected.__enter__()
        self.addCleanup(redirected.__exit__, None, None, None)

    def test_a_failure_is_reported_once_and_nothing_more_is_done(self):
        watched = self.watch()
        watched.out = types.SimpleNamespace(write=mock.Mock(side_effect=OSError("no space left")))
        optimizer = Optimizer()
        watched.follow_optimizer(optimizer)
        for _ in range(9):
            self.clock.now += 1
            optimizer.step()
        self.assertEqual(self.errors.getvalue(), "tocsin: times are no longer printed: OSError: no space left\n")
        self.assertEqual((watched.out.write.call_count, optimizer.made, tocsin._watches), (1, 9, []))
        watched.close()
        self.assertEqual(len(optimizer.hooks), 1)

    def test_a_hook_that_cannot_be_removed_is_no_failure(self):
        watched, removed = self.watch(), []
        watched.removers += [lambda: removed.append("the other one"), mock.Mock(side_effect=RuntimeError("gone"))]
        watched.close()
        self.assertEqual((removed, watched.removers, self.errors.getvalue()), (["the other one"], [], ""))

    def test_stderr_that_is_closed_is_no_failure(self):
        watched = self.watch()
        with mock.patch.object(sys, "stderr", None):
            self.fail_in(watched, ValueError)
        self.assertFalse(watched.on)

    def fail_in(self, watched, error):
        self.steps(watched, 1, 1)
        with mock.patch.object(watched, "_print_times", mock.Mock(side_effect=error)):
            self.steps(watched, 1, 1)

    def test_a_second_training_of_a_process_ends_the_watch_of_the_first(self):
        first = tocsin.Watch(out=io.StringIO())
        self.assertTrue(first.on)
        second = tocsin.watch(None)          # a wrong call, which ends itself as well
        self.assertEqual((first.on, second.on), (False, False))
        self.assertNotIn(first, tocsin._watches)

    def test_a_wrong_call_does_not_end_the_training(self):
        tocsin.watch(object())
        self.assertEqual(self.errors.getvalue(), "tocsin: times are no longer printed: TypeError: watch(model, optimizer): the optimizer is missing\n")
        tocsin.watch(None, None)
        self.assertEqual(self.errors.getvalue().count("\n"), 2)

    def test_an_interrupt_of_the_user_is_not_swallowed(self):
        with self.assertRaises(KeyboardInterrupt):
            self.fail_in(self.watch(), KeyboardInterrupt)

    def test_the_environment_switches_it_off(self):
        with mock.patch.dict(os.environ, {"TOCSIN_LINES": "0"}):
            optimizer = Optimizer()
            watched = tocsin.watch(object(), optimizer)
        self.assertEqual((watched.on, len(optimizer.hooks), self.errors.getvalue()), (False, 1, ""))

    @unittest.skipUnless(hasattr(os, "fork"), "needs fork")
    def test_a_forked_process_prints_nothing(self):
        watched = self.watch()
        self.steps(watched, 1, 1)
        child = os.fork()
        if child == 0:
            self.steps(watched, 3, 1)
            os._exit(len(self.out.lines()) + len(tocsin._watches))
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assertTrue(watched.on)


class Optimizer:
    """Has the hooks of PyTorch 2, which may not be removed while they are called."""

    def __init__(self):
        self.hooks, self.made, self.state = collections.OrderedDict({0: lambda *_: None}), 0, {}

    def register_step_post_hook(self, hook):
        self.hooks[len(self.hooks)] = hook
        return types.SimpleNamespace(remove=self.hooks.popitem)

    def step(self):
        self.made += 1
        for hook in self.hooks.values():
            hook(self, (), {})


class OldOptimizer:
    """Has none."""

    def __init__(self):
        self.state = {}

    def step(self, closure=None):
        if closure is not None:
            closure()
        return "loss"


class Optimizers(Hooks):
    def test_an_optimizer_without_hooks_keeps_what_its_step_takes_returns_and_raises(self):
        optimizer, watched = OldOptimizer(), self.watch(step=0)
        watched.follow_optimizer(optimizer)
        self.assertEqual(optimizer.step(), "loss")
        self.assertIs(optimizer.step.__self__, optimizer)       # schedulers of PyTorch 1 look at it
        self.assertTrue(callable(optimizer.step.__func__))
        with self.assertRaises(ZeroDivisionError):
            optimizer.step(closure=lambda: 1 / 0)
        self.assertEqual((watched.step, watched.on), (1, True))

    def test_the_optimizer_within_others_is_hooked(self):
        inner = Optimizer()
        self.assertIs(tocsin._innermost(types.SimpleNamespace(optimizer=types.SimpleNamespace(optimizer=inner, step=None), step=None)), inner)
        self.assertIs(tocsin._innermost(inner), inner)


class Loaders(Hooks):
    def test_the_wait_for_a_loader_is_data_of_the_thread_that_trains(self):
        clock = self.clock

        class Iterator:
            def __init__(self):
                self.left = 2

            def __next__(self):
                clock.now += 0.25
                self.left -= 1
                if self.left < 0:
                    raise StopIteration
                return self.left

            def __iter__(self):
                return self

        module = types.SimpleNamespace(_BaseDataLoaderIter=Iterator)
        fakes = {"torch": types.SimpleNamespace(), "torch.utils": types.SimpleNamespace(), "torch.utils.data": types.SimpleNamespace(dataloader=module)}
        with mock.patch.dict(sys.modules, fakes):
            tocsin._time_loaders()
            once = Iterator.__next__
            tocsin._time_loaders()
            self.assertIs(Iterator.__next__, once)
        watched, other = self.watch(), self.watch()
        watched.thread, other.thread = threading.get_ident(), -1
        self.assertEqual(list(Iterator()), [1, 0])
        self.assertEqual((watched.data, other.data), (0.75, 0.0))

    def loader(self, count=2, asked=4, **queues):
        """An iterator as PyTorch's is that has workers; `queues`: how many batches are ready in each."""
        made = {f"_{name}": mock.Mock(qsize=lambda n=n: n) for name, n in queues.items()}
        return types.SimpleNamespace(_num_workers=count, _tasks_outstanding=asked, **{"_data_queue": made["_worker_result_queue"], **made})

    def printed(self, *looks):
        """The line after looks of 0.1 s, each at such a loader, or at none."""
        watched = self.watch(step=0)
        self.steps(watched, 1, 1)
        for loader in looks:
            watched.workers = tocsin._workers(loader)
            watched._look_once(0.0, 0.1)
        self.steps(watched, 1, 1)
        return self.out.lines()[-1].partition("comm 0.00000")[2]

    def test_workers_are_busy_with_what_they_were_asked_for_and_is_not_ready(self):
        self.assertEqual(self.printed(self.loader(worker_result_queue=0)), " | workers 1.00")
        self.assertEqual(self.printed(self.loader(worker_result_queue=3)), " | workers 0.50")
        self.assertEqual(self.printed(self.loader(worker_result_queue=5)), " | workers 0.00")
        self.assertEqual(self.printed(self.loader(worker_result_queue=4), self.loader(worker_result_queue=3)), " | workers 0.25")

    def test_batches_in_pinned_memory_are_ready_as_well(self):
        self.assertEqual(self.printed(self.loader(worker_result_queue=1, data_queue=2)), " | workers 0.50")

    def test_a_loader_without_workers_or_at_its_end_or_of_another_make_says_nothing_of_them(self):
        closed = self.loader(worker_result_queue=0)
        closed._data_queue.qsize = mock.Mock(side_effect=OSError("closed"))
        for loader in (object(), self.loader(count=0, worker_result_queue=0), self.loader(asked=0, worker_result_queue=0), closed,
                       types.SimpleNamespace(_num_workers=None, _tasks_outstanding=1, _worker_result_queue=1, _data_queue=2)):
            self.assertEqual(self.printed(loader), "")

    def test_the_workers_of_an_evaluation_are_left_out(self):
        watched = self.watch(step=0)
        self.steps(watched, 1, 1)
        watched.workers = tocsin._workers(self.loader(worker_result_queue=0))
        watched._look_once(0.0, 30)
        watched.leave_out()
        self.steps(watched, 1, 1)
        self.assertNotIn("workers", self.out.getvalue())


if __name__ == "__main__":
    unittest.main()
