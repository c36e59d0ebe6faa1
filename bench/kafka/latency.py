"""From the append of an entry to the request at Alertmanager: `tocsin run` with its default settings, the shipped rules and one more."""

import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
CONFIGURATION = """kafka: {{brokers: ["{broker}"], prefix: {prefix}, group: {prefix}, instance_id: a}}
rules: [shipped, {more}]
alertmanager: {{instances: [{{url: "http://127.0.0.1:{port}"}}]}}
http: {{listen: "127.0.0.1:0"}}
"""
BOUNDS = (5, 10, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 500)    # ms


class Post:
    """The program that sends the trials and takes the requests."""

    def __init__(self, program, place, trials, any_entry):
        self.process = subprocess.Popen([program, place.broker, f"{place.prefix}.telemetry", str(place.partitions), str(trials),
                                         *(["any"] if any_entry else [])], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        place.started.append(self)
        self.port = int(self.process.stdout.readline())

    def measure(self):
        """Milliseconds of each trial that came; those that did not."""
        output = self.process.communicate("go\n", timeout=600)[0]
        if self.process.returncode != 0:
            raise AssertionError(f"bench_kafka_post ended with {self.process.returncode}")
        times, missing = [], []
        for line in output.splitlines():
            job, time = line.split()
            if time == "never":
                missing.append(job)
            else:
                times.append(float(time))
        return times, missing


def configured(place, port):
    """The file of an instance with the rule that fires."""
    file = pathlib.Path(place.folder, "post.yml")
    file.write_text(CONFIGURATION.format(broker=place.broker, prefix=place.prefix, more=HERE / "rules", port=port))
    return file


def histogram(times):
    """Lines: how many trials lie between two bounds."""
    lines, below = [], 0
    for least, bound in zip((0, *BOUNDS), (*BOUNDS, float("inf"))):
        number = sum(1 for one in times if one < bound) - below
        below += number
        if number:
            title = f"{least} to {bound} ms" if bound != float("inf") else f"{least} ms and more"
            lines.append(f"{title:>16} {number:>6} {'#' * max(1, round(60 * number / len(times)))}")
    return "\n".join(lines)
