"""What scripts/pictures draws of the dashboards: from made-up answers, without servers and browser."""

import pathlib
import struct
import sys
import tempfile
import unittest
import zlib

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts" / "pictures")]

import draw  # noqa: E402
import shrink  # noqa: E402
import values  # noqa: E402
from tests.demo import dashboards  # noqa: E402

BEGIN, END = 1_780_000_000, 1_780_000_420


def answer(target, **labels):
    """What Prometheus would answer: one series that has the value 1."""
    if target.get("instant"):
        return [{"metric": labels, "value": [END, "1"]}]
    return [{"metric": labels, "values": [[BEGIN + i, "1"] for i in range(0, 420, 2)]}]


def page(board, give):
    answers = {str(number): [give(target) for target in panel["targets"]] for number, panel in enumerate(board["panels"]) if panel["type"] != "row"}
    return draw.Page(board, answers, BEGIN, END, {"Job": "llama"})


def panel(kind, targets, **more):
    return {"type": kind, "title": "One", "gridPos": {"x": 0, "y": 0, "w": 12, "h": 8}, "targets": targets, "fieldConfig": {"defaults": {}},
            "options": {}, **more}


def drawn(one, answers):
    board = {"title": "b", "templating": {"list": []}, "panels": [one]}
    return draw.Page(board, {"0": answers}, BEGIN, END, {}).html()


class Pictures(unittest.TestCase):
    def test_each_panel_of_each_dashboard_is_drawn_from_its_answers(self):
        for name, board in dashboards.boards().items():
            text = page(board, lambda target: answer(target, severity="critical", state="hung", job_id="llama", rank="3")).html()
            self.assertNotIn("No data", text, name)
            self.assertEqual(text.count("class=panel"), len(list(dashboards.panels(board))), name)
            self.assertEqual(text.count("<svg "), sum(one["type"] == "timeseries" for one in board["panels"]), name)

    def test_a_panel_without_an_answer_says_so(self):
        for name, board in dashboards.boards().items():
            text = page(board, lambda target: []).html()
            self.assertEqual(text.count("No data"), sum(one["type"] in ("stat", "timeseries") for one in board["panels"]), name)

    def test_a_line_is_broken_where_nothing_was_scraped(self):
        series = [[BEGIN, "1"], [BEGIN + 2, "1"], [BEGIN + 40, "2"], [BEGIN + 42, "2"]]
        text = drawn(panel("timeseries", [{"expr": "a", "legendFormat": "{{job}}"}]), [[{"metric": {"job": "x"}, "values": series}]])
        self.assertEqual(text.count("fill=none"), 2)
        self.assertIn("</i>x</span>", text)

    def test_rows_of_a_table_are_put_together_by_what_their_queries_share(self):
        one = panel("table", [{"expr": "a", "instant": True}, {"expr": "b", "instant": True}],
                    transformations=[{"id": "organize", "options": {"renameByName": {"job_id": "Job", "state": "State", "Value #B": "Ranks"}}}])
        text = drawn(one, [[{"metric": {"job_id": "x", "state": "hung"}, "value": [END, "1"]}], [{"metric": {"job_id": "x"}, "value": [END, "8"]}]])
        self.assertEqual(text.count("<tr>"), 2)
        for cell in (">x</td>", ">hung</td>", ">8</td>"):
            self.assertIn(cell, text)

    def test_what_a_job_is_called_cannot_become_html(self):
        text = drawn(panel("stat", [{"expr": "a", "instant": True, "legendFormat": "{{job}}"}], options={"textMode": "name"}),
                     [[{"metric": {"job": "<b>"}, "value": [END, "1"]}]])
        self.assertIn("&lt;b&gt;", text)

    def test_values_are_written_with_their_units(self):
        for value, unit, decimals, text in ((0.0123, "s", None, "12.3 ms"), (75, "s", None, "1.25 min"), (0.987, "percentunit", None, "98.7%"),
                                            (1234, "short", None, "1.23 K"), (15000, "cps", None, "15 K c/s"), (0, "cps", None, "0"),
                                            (12.3456, "none", 2, "12.35"), (float("nan"), "s", None, "–")):
            self.assertEqual(values.shown(value, unit, decimals), text)

    def test_a_picture_keeps_its_pixels_with_any_filter(self):
        colours, width = [(1, 2, 3), (250, 128, 0), (9, 9, 9)], 5
        pixels = [[colours[(x * y + x) % 3] for x in range(width)] for y in range(5)]
        raw, before = b"", bytes(width * 3)
        for kind, line in enumerate(bytes(byte for colour in row for byte in colour) for row in pixels):
            def at(i, bytes_=line):
                return bytes_[i] if i >= 0 else 0
            add = [(0, at(i - 3), before[i], (at(i - 3) + before[i]) // 2, shrink.predicted(at(i - 3), before[i], before[i - 3] if i >= 3 else 0))[kind]
                   for i in range(len(line))]
            raw += bytes([kind]) + bytes((byte - more) & 255 for byte, more in zip(line, add))
            before = line
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "a.png")
            file.write_bytes(shrink.SIGNATURE + shrink.chunk(b"IHDR", struct.pack(">IIBBBBB", width, 5, 8, 2, 0, 0, 0)) +
                             shrink.chunk(b"IDAT", zlib.compress(raw)) + shrink.chunk(b"IEND", b""))
            shrink.shrink(file)
            parts = dict(shrink.parts(file.read_bytes()))
        palette = [tuple(parts[b"PLTE"][i:i + 3]) for i in range(0, len(parts[b"PLTE"]), 3)]
        image = zlib.decompress(parts[b"IDAT"])
        self.assertEqual([[palette[image[y * (width + 1) + 1 + x]] for x in range(width)] for y in range(5)], pixels)


if __name__ == "__main__":
    unittest.main()
