"""Draws a dashboard of Grafana from its JSON and recorded answers, as one page of HTML with plain SVG: the panels' places, queries, units,
thresholds and mappings are the dashboard's. It is no Grafana: only what our dashboards use is drawn."""

import html
import math
import re
import time

from values import PALETTE, colour, field_config, mapped, shown, threshold_colour

WIDTH, UNIT, GAP, EDGE, HEAD = 1240, 30, 8, 12, 58
STYLE = """
body { margin: 0; background: #111217; color: #ccccdc; font: 13px Inter, "DejaVu Sans", sans-serif; width: %dpx; position: relative; }
.head { position: absolute; left: 14px; top: 14px; right: 14px; display: flex; gap: 12px; align-items: center; }
.head b { font-size: 18px; margin-right: 8px; } .head .range { margin-left: auto; color: #9d9ea8; }
.chip { border: 1px solid #34363d; border-radius: 3px; background: #181b1f; padding: 4px 9px; } .chip i { color: #6e9fff; font-style: normal; margin-right: 6px; }
.panel { position: absolute; background: #181b1f; border: 1px solid #24262c; border-radius: 3px; overflow: hidden; box-sizing: border-box; }
.title { padding: 8px 10px 4px; font-weight: 500; white-space: nowrap; } .row { position: absolute; left: 14px; font-size: 15px; font-weight: 500; line-height: 30px; }
.stat { position: absolute; inset: 30px 0 8px 0; display: flex; align-items: center; justify-content: center; font-size: 32px; font-weight: 600; white-space: nowrap; }
.none { position: absolute; inset: 30px 0 8px 0; display: flex; align-items: center; justify-content: center; color: #8e8f99; }
svg { position: absolute; left: 0; top: 28px; } svg text { font: 11px Inter, "DejaVu Sans", sans-serif; fill: #9d9ea8; }
.legend { position: absolute; left: 12px; right: 8px; bottom: 6px; font-size: 12px; display: flex; flex-wrap: wrap; gap: 2px 14px; }
.legend i { display: inline-block; width: 14px; height: 4px; border-radius: 2px; margin-right: 6px; vertical-align: middle; }
table { border-collapse: collapse; width: calc(100%% - 20px); margin: 2px 10px; } th { text-align: left; color: #6e9fff; font-weight: 500; }
td, th { padding: 6px 10px 6px 6px; border-bottom: 1px solid #26282e; white-space: nowrap; } td.number, th.number { text-align: right; }
""" % WIDTH


def series_name(target, labels):
    legend = target.get("legendFormat") or "__auto"
    if legend == "__auto":
        return ", ".join(f'{name}="{value}"' for name, value in sorted(labels.items()) if name != "__name__") or "Value"
    return re.sub(r"\{\{\s*(\w+)\s*\}\}", lambda found: labels.get(found[1], ""), legend)


def number(text):
    return float(text)


def clock(seconds, with_seconds=False):
    return time.strftime("%H:%M:%S" if with_seconds else "%H:%M", time.gmtime(seconds))


def nice_step(span, count):
    raw = span / count
    size = 10 ** math.floor(math.log10(raw))
    return next(size * one for one in (1, 2, 2.5, 5, 10) if size * one >= raw * 0.999)


class Page:
    def __init__(self, board, answers, begin, end, values):
        self.board, self.answers, self.begin, self.end, self.values = board, answers, begin, end, values

    def place(self, panel):
        at, column = panel["gridPos"], (WIDTH - 2 * EDGE + GAP) / 24
        return (EDGE + at["x"] * column, HEAD + at["y"] * (UNIT + GAP), at["w"] * column - GAP, at["h"] * (UNIT + GAP) - GAP)

    def height(self):
        return max(HEAD + (panel["gridPos"]["y"] + panel["gridPos"]["h"]) * (UNIT + GAP) for panel in self.board["panels"]) + EDGE - GAP

    def html(self):
        return f"<!doctype html><meta charset=utf-8><style>{STYLE}</style><body style='height:{self.height()}px'>{self.head()}" + "".join(
            self.panel(number_, panel) for number_, panel in enumerate(self.board["panels"]))

    def head(self):
        chips = "".join(f"<span class=chip><i>{html.escape(one.get('label', one['name']))}</i>{html.escape(self.values.get(one.get('label'), 'All'))}</span>"
                        for one in self.board["templating"]["list"])
        day = time.strftime("%Y-%m-%d", time.gmtime(self.end))
        return (f"<div class=head><b>{html.escape(self.board['title'])}</b>{chips}"
                f"<span class=range>{day}, {clock(self.begin)} to {clock(self.end)} UTC</span></div>")

    def panel(self, place, panel):
        left, top, width, height = self.place(panel)
        title = panel["title"]
        for name, value in self.values.items():
            title = title.replace("$" + name.lower(), value)
        title = html.escape(re.sub(r"\$\w+", "All", title))
        if panel["type"] == "row":
            return f"<div class=row style='top:{top}px'>⌄ {title}</div>"
        draw = {"stat": self.stat, "timeseries": self.timeseries, "table": self.table}[panel["type"]]
        body = draw(panel, self.answers[str(place)], width - 2, height - 2) or "<div class=none>No data</div>"
        return (f"<div class=panel style='left:{left:.0f}px;top:{top}px;width:{width:.0f}px;height:{height:.0f}px'><div class=title>{title}</div>{body}</div>")

    def stat(self, panel, answers, width, height):
        config, parts = field_config(panel, "Value"), []
        for target, series in zip(panel["targets"], answers):
            for one in series:
                value = number(one["value"][1])
                text, shade = shown(value, config.get("unit"), config.get("decimals")), threshold_colour(config, value)
                if panel["options"].get("textMode") == "name":
                    text = series_name(target, one["metric"])
                    fixed = field_config(panel, text).get("color", {}).get("fixedColor")
                    text, shade = mapped(config, text) or (text, colour(fixed) if fixed else shade)
                parts.append(f"<span style='color:{shade}'>{html.escape(text)}</span>")
        return parts and f"<div class=stat style='gap:14px'>{''.join(parts[:3])}</div>"

    # ---- time series
    def lines(self, panel, answers):
        """(name, colour, {time: value}) of each series."""
        found = []
        for target, series in zip(panel["targets"], answers):
            for one in series:
                name = series_name(target, one["metric"])
                config = field_config(panel, name)
                fixed = config.get("color", {}).get("fixedColor")
                points = {round(at): number(value) for at, value in one["values"] if value not in ("NaN", "+Inf", "-Inf")}
                if points:
                    found.append((name, colour(fixed) if fixed else PALETTE[len(found) % len(PALETTE)], points))
        return found

    def timeseries(self, panel, answers, width, height):
        lines = self.lines(panel, answers)
        if not lines:
            return None
        config = field_config(panel, "")
        unit, custom = config.get("unit"), config["custom"]
        if custom.get("stacking", {}).get("mode") == "normal":
            below, stacked = {}, []
            for name, shade, points in lines:
                stacked.append((name, shade, {at: below.get(at, 0.0) + value for at, value in points.items()}, {at: below.get(at, 0.0) for at in points}))
                for at, value in points.items():
                    below[at] = below.get(at, 0.0) + value
        else:
            stacked = [(*one, None) for one in lines]
        values = [value for _, _, points, _ in stacked for value in points.values()]
        low, high = min(values), max(values)
        if config.get("min") is not None:
            low = min(low, config["min"])
        if config.get("max") is not None:
            high = max(high, config["max"])
        if high - low < 1e-9:
            low, high = (0.0, 1.0) if high == 0 else (min(0.0, low), high * 1.2)
        step = nice_step(high - low, 4)
        if unit == "short" and high <= 10:
            step = max(1.0, math.ceil(step))
        if unit == "percentunit" and config.get("max") == 1:
            step = 0.25
        top = math.ceil(high / step - 1e-9) * step
        bottom = math.floor(low / step + 1e-9) * step
        rows = 1 + sum(len(name) * 7 + 36 for name, *_ in lines[:12]) // width
        chart = height - 28 - 22 - rows * 18
        labels = [shown(0.0 if abs(bottom + i * step) < step / 1e6 else bottom + i * step, unit) for i in range(round((top - bottom) / step) + 1)]
        left, right, base = 22 + 6.6 * max(map(len, labels)), width - 12, chart - 4

        def x(at):
            return left + (at - self.begin) / (self.end - self.begin) * (right - left)

        def y(value):
            return base - (value - bottom) / (top - bottom) * (base - 8)
        out = [f"<svg width={width:.0f} height={chart + 20:.0f}>"]
        for i, label in enumerate(labels):
            at = y(bottom + i * step)
            out.append(f"<path d='M{left:.0f} {at:.1f}H{right:.0f}' stroke='#2c2e35'/><text x={left - 8:.0f} y={at + 4:.1f} text-anchor=end>{html.escape(label)}</text>")
        minutes = next(one for one in (1, 2, 5, 10, 15, 30, 60) if (self.end - self.begin) / 60 / one <= width / 75)
        for at in range(math.ceil(self.begin / 60 / minutes) * 60 * minutes, int(self.end), 60 * minutes):
            out.append(f"<path d='M{x(at):.1f} 8V{base:.0f}' stroke='#24262c'/><text x={x(at):.1f} y={base + 16:.0f} text-anchor=middle>{clock(at)}</text>")
        if custom.get("thresholdsStyle", {}).get("mode") == "line":
            for one in config["thresholds"]["steps"]:
                if one["value"] is not None and bottom <= one["value"] <= top:
                    out.append(f"<path d='M{left:.0f} {y(one['value']):.1f}H{right:.0f}' stroke='{colour(one['color'])}' stroke-dasharray='6 5' opacity=.8 />")
        for _, shade, points, under in reversed(stacked):
            for run in runs(sorted(points)):
                path = "L".join(f"{x(at):.1f} {y(points[at]):.1f}" for at in run)
                floor = [f"{x(at):.1f} {y(under[at] if under else max(bottom, min(0.0, top))):.1f}" for at in reversed(run)]
                out.append(f"<path d='M{path}L{'L'.join(floor)}Z' fill='{shade}' opacity={custom.get('fillOpacity', 0) / 100:.2f} />")
                out.append(f"<path d='M{path}' fill=none stroke='{shade}' stroke-width=1.6 stroke-linejoin=round />")
        legend = "".join(f"<span><i style='background:{shade}'></i>{html.escape(name)}</span>" for name, shade, _ in lines[:12])
        return "".join(out) + f"</svg><div class=legend>{legend}</div>"

    # ---- tables
    def table(self, panel, answers, width, height):
        targets = panel["targets"]
        shared = set.intersection(*(set().union(*(one["metric"] for one in series)) for series in answers if series)) if any(answers) else set()
        rows = {}
        for letter, (_, series) in zip("ABCDEFGHIJ", zip(targets, answers)):
            for one in series:
                row = rows.setdefault(tuple(sorted((name, value) for name, value in one["metric"].items() if name in shared)), {})
                row.update(one["metric"])
                row["Value" if len(targets) == 1 else f"Value #{letter}"] = number(one["value"][1])
        renamed = next((one["options"].get("renameByName", {}) for one in panel.get("transformations", []) if one["id"] == "organize"), {})
        columns = [(name, title) for name, title in renamed.items()
                   if any(name in row for row in rows.values()) and not field_config(panel, title)["custom"].get("hidden")]
        table = list(rows.values())
        for one in panel["options"].get("sortBy", []):
            name = next((name for name, title in columns if title == one["displayName"]), None)
            table.sort(key=lambda row: (row.get(name) is not None, row.get(name)), reverse=one.get("desc", False))
        numeric = {name for name, _ in columns if any(isinstance(row.get(name), float) for row in table)}
        out = ["<table><tr>", *(f"<th class={'number' if name in numeric else 'text'}>{html.escape(title)}</th>" for name, title in columns), "</tr>"]
        for row in table[:int((height - 70) // 31)]:
            out.append("<tr>")
            for name, title in columns:
                value, config, shade = row.get(name), field_config(panel, title), "#ccccdc"
                text = shown(value, config.get("unit"), config.get("decimals")) if isinstance(value, float) else str(value or "")
                if config["custom"].get("cellOptions", {}).get("type") == "color-text":
                    shade = threshold_colour(config, value) if isinstance(value, float) else shade
                    text, shade = mapped(config, text) or (text, shade)
                out.append(f"<td class={'number' if name in numeric else 'text'} style='color:{shade}'>{html.escape(text)}</td>")
            out.append("</tr>")
        return "".join(out) + "</table>"


def runs(times):
    """Stretches without a gap."""
    step = min((b - a for a, b in zip(times, times[1:])), default=1)
    found = []
    for at in times:
        if found and at - found[-1][-1] <= 1.5 * step:
            found[-1].append(at)
        else:
            found.append([at])
    return found
