"""How Grafana writes values: units, decimals, the colours of thresholds and mappings."""

import math

COLOURS = {"green": "#73bf69", "yellow": "#fade2a", "red": "#f2495c", "orange": "#ff9830", "blue": "#5794f2", "text": "#ccccdc",
           "purple": "#b877d9"}
PALETTE = ["#73bf69", "#f2cc0c", "#8ab8ff", "#ff780a", "#f2495c", "#5794f2", "#b877d9", "#37872d", "#e0b400", "#c15c17"]


def colour(name):
    return COLOURS.get(name, name)


def digits(value, decimals):
    if decimals is not None:
        return f"{value:.{decimals}f}"
    if value == 0 or abs(value) >= 100:
        return f"{value:.0f}"
    text = f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def scaled(value, decimals, steps):
    for factor, suffix in steps:
        if abs(value) >= factor or factor == steps[-1][0]:
            return digits(value / factor, decimals) + suffix
    return digits(value, decimals)


def shown(value, unit, decimals=None):
    """A number with its unit."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == 0 and unit not in ("percentunit", "s"):
        return digits(0, decimals)
    if unit == "percentunit":
        return digits(value * 100, decimals) + "%"
    if unit == "s":
        if value == 0:
            return "0 s"
        return scaled(value, decimals, [(3600, " h"), (60, " min"), (1, " s"), (1e-3, " ms"), (1e-6, " µs")])
    rate = {"cps": " c/s", "reqps": " req/s"}.get(unit)
    if rate or unit == "short":
        suffix = rate or ""
        return scaled(value, decimals, [(1e9, " B" + suffix), (1e6, " M" + suffix), (1e3, " K" + suffix), (1, suffix)]) if abs(value) >= 1 \
            else digits(value, decimals) + suffix
    return digits(value, decimals)


def threshold_colour(config, value, otherwise="text"):
    """Of the last step that the value reaches."""
    found = otherwise
    for step in config.get("thresholds", {}).get("steps", []):
        if step["value"] is None or (value is not None and value >= step["value"]):
            found = step["color"]
    return colour(found)


def mapped(config, text):
    """The text and the colour that a mapping has for it, or None."""
    for mapping in config.get("mappings", []):
        if mapping["type"] == "value" and text in mapping["options"]:
            option = mapping["options"][text]
            return option.get("text", text), colour(option.get("color", "text"))
    return None


def field_config(panel, name):
    """The defaults of a panel with what is overridden for the field of this name; nested under "custom" as Grafana has it."""
    config = dict(panel.get("fieldConfig", {}).get("defaults", {}))
    config["custom"] = dict(config.get("custom", {}))
    for override in panel.get("fieldConfig", {}).get("overrides", []):
        if override["matcher"] == {"id": "byName", "options": name}:
            for property_ in override["properties"]:
                if property_["id"].startswith("custom."):
                    config["custom"][property_["id"][7:]] = property_.get("value")
                else:
                    config[property_["id"]] = property_.get("value")
    return config
