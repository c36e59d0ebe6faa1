"""The dashboards of deploy/grafana, as the tests read them."""

import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "deploy" / "grafana" / "dashboards"


def boards():
    """By file name."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}


def panels(board):
    """Those that show something, rows left out."""
    for panel in board["panels"]:
        if panel["type"] != "row":
            yield panel


def variables(board):
    """The metric selector and the label of each variable that is a query: [(name, selector, label)]."""
    found = []
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            selector, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["definition"]).groups()
            found.append((variable["name"], selector, label))
    return found


def queries(board):
    """(panel, expression) of each query."""
    for panel in panels(board):
        for target in panel["targets"]:
            yield panel["title"], target["expr"]


def filled(expression, values):
    """The expression as Grafana sends it, once its variables have these values."""
    for name, value in sorted(values.items(), key=lambda item: -len(item[0])):
        expression = expression.replace("$" + name, value)
    assert "$" not in expression, expression
    return expression
