"""Where the tracer may find itself and what it traces: containers, files that nobody else sees, and rights that are missing."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from probed import CALLER, PROBE, Caller, Probe, Traced, descendants, until

STUBS = pathlib.Path(CALLER).with_name("stubs")


def unshared(*kinds):
    return ["unshare", *kinds]


def allowed(*command):
    return shutil.which("unshare") is not None and subprocess.run([*command, "true"], capture_output=True).returncode == 0


class Rooms(Traced):
    def setUp(self):
        self.probe = Probe()
        self.addCleanup(self.probe.close)

    def calls_of(self, caller, pid):
        caller.ask("comm", 0, 2)
        caller.ask("run", 1, 5)
        self.probe.look([pid])
        return self.probe.read()[pid]["launched"]

    @unittest.skipUnless(allowed(*unshared("-pf", "--mount-proc")), "no new pid namespace is permitted here")
    def test_a_process_in_a_pid_namespace_of_its_own_goes_by_the_pid_that_we_see(self):
        caller = Caller(self, *unshared("-pf", "--kill-child", "--mount-proc"))
        caller.ask("ready")
        pid = until(lambda: descendants(caller.pid)[1:], "the child")[0]
        self.probe.look([pid])
        self.assertEqual(self.calls_of(caller, pid), 10)

    @unittest.skipUnless(allowed(*unshared("-pf", "--mount-proc")), "no new pid namespace is permitted here")
    def test_a_tracer_in_a_pid_namespace_sees_the_pids_of_that(self):
        done = subprocess.run([*unshared("-pf", "--mount-proc"), sys.executable, pathlib.Path(__file__).with_name("test_calls.py"),
                               "Calls.test_an_exec_and_a_process_that_gets_the_same_files_begin_at_zero"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    @unittest.skipUnless(allowed(*unshared("-T", "--boottime", "5", "--monotonic", "7", "-f")), "no new time namespace is permitted here")
    def test_a_tracer_in_a_time_namespace_knows_the_kernel_s_clock(self):
        probe = Probe(before=unshared("-T", "--boottime", "1000", "--monotonic", "2000", "-f"))
        self.addCleanup(probe.close)
        caller = Caller(self)
        caller.ask("ready")
        probe.look([caller.pid])
        for line in ("wait", ""):
            caller.send(line)
            until(lambda: probe.one(caller.pid).get("waits") == 1, "the call")
        caller.answer()
        caller.send("wait")
        waiting = until(lambda: probe.one(caller.pid).get("waiting"), "the wait")
        self.assertLess(waiting["open"], 60)

    @unittest.skipUnless(allowed(*unshared("-m")), "no new mount namespace is permitted here")
    def test_libraries_that_only_the_process_can_see_are_found_through_its_root(self):
        with tempfile.TemporaryDirectory() as empty:
            inside = f"mount -t tmpfs none {empty} && cp {STUBS}/*.so* {CALLER} {empty} && LD_LIBRARY_PATH={empty} exec {empty}/trace_caller"
            caller = Caller(self, *unshared("-m"), "sh", "-c", inside, "-")
            caller.ask("ready")
            self.assertEqual(os.listdir(empty), [])
            self.probe.look([caller.pid])
            self.assertEqual(self.calls_of(caller, caller.pid), 10)

    def test_libraries_that_are_deleted_are_found_by_their_mapping(self):
        with tempfile.TemporaryDirectory() as folder:
            for file in STUBS.glob("*.so*"):
                shutil.copy(file, folder)
            caller = Caller(self, "env", f"LD_LIBRARY_PATH={folder}")
            caller.ask("ready")
        self.probe.look([caller.pid])
        self.assertEqual(self.calls_of(caller, caller.pid), 10)

    def test_a_library_that_is_not_one_is_noted_once(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "libnccl.so.2"
            file.write_bytes(b"not a library" * 1000)
            mapping = ("import mmap, os, sys; f = os.open(sys.argv[1], os.O_RDONLY); m = mmap.mmap(f, 0, mmap.MAP_PRIVATE, "
                       "mmap.PROT_READ | mmap.PROT_EXEC); print('ok', flush=True); sys.stdin.read()")
            process = subprocess.Popen([sys.executable, "-c", mapping, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.addCleanup(process.communicate)
            process.stdout.readline()
            for _ in range(2):
                self.probe.look([process.pid])
                self.assertEqual(self.probe.read(), {})
        self.assertEqual(self.probe.notes, [f"{file}: it is not an ELF file"])

    def test_with_no_file_left_it_says_so(self):
        probe = Probe(before=["sh", "-c", f"ulimit -n 8; exec {PROBE}"])
        self.addCleanup(probe.process.communicate)
        self.assertIn("ulimit -n", probe.error)


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "only root can give up its rights")
class Rights(unittest.TestCase):
    def refusal(self, *before):
        probe = Probe(before=before)
        self.addCleanup(probe.process.communicate)
        self.assertIsNotNone(probe.error)
        self.assertNotIn("\n", probe.error)
        return probe.error

    def test_without_a_capability_it_says_which_are_needed(self):
        for missing in ("bpf", "perfmon"):
            self.assertIn("add the capabilities BPF, PERFMON and SYS_PTRACE",
                          self.refusal("setpriv", f"--bounding-set=-{missing},-sys_admin"))
        self.assertIn("run as root", self.refusal("setpriv", "--reuid=65534", "--clear-groups", "env"))

    @unittest.skipUnless(allowed(*unshared("-m")), "no new mount namespace is permitted here")
    def test_without_the_types_of_the_kernel_it_says_so(self):
        self.assertIn("CONFIG_DEBUG_INFO_BTF", self.refusal(*unshared("-m"), "sh", "-c", f"mount -t tmpfs none /sys; exec {PROBE}"))

    def test_processes_of_other_users_need_ptrace(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            for file in [*STUBS.glob("*.so*"), pathlib.Path(CALLER)]:
                shutil.copy(file, folder)
            other = Caller(self, "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", f"LD_LIBRARY_PATH={folder}",
                           program=f"{folder}/trace_caller")
            other.ask("ready")
            probe = Probe(before=["setpriv", "--bounding-set=-all,+bpf,+perfmon"])
            self.addCleanup(probe.close)
            if probe.error:
                self.skipTest("this kernel wants SYS_ADMIN for a probe")
            probe.look([other.pid])
            self.assertEqual(probe.read(), {})
        self.assertIn("that needs the capability SYS_PTRACE", probe.notes[0])


if __name__ == "__main__":
    unittest.main()
