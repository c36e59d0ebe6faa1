"""Time stamps at the beginning of log lines."""

import re
from datetime import datetime, timezone

from .records import MILLISECOND, SECOND, SYNTHETIC_START

MONTHS = {name: index + 1 for index, name in enumerate("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split())}
MONTH = "|".join(MONTHS)
CLOCK = r"(?P<h>\d{1,2}):(?P<mi>\d{2}):(?P<s>\d{2})(?:[.,](?P<f>\d{1,9}))?"
LOOK_WITHIN = 90            # characters: a time further right is about something else
LARGEST_GAP = 7 * 86400 * SECOND

# Tried in this order. A stamp may stand behind a rank prefix, a level or an opening bracket, not behind prose.
BEFORE = r"^(?:[^\s\[\]()]{0,24}\s{0,2}[:|]?\s{0,2}|\[[^\]]{0,40}\]:?\s?|\([^)]{0,40}\)\s?){0,3}\[?"
FORMATS = [re.compile(BEFORE + pattern) for pattern in (
    rf"(?P<y>\d{{4}})[-/](?P<mo>\d{{2}})[-/](?P<d>\d{{2}})[T _]{CLOCK}(?P<zone>Z|[+-]\d{{2}}:?\d{{2}})?",
    rf"(?:[A-Z][a-z]{{2}} )?(?P<mon>{MONTH}) {{1,2}}(?P<d>\d{{1,2}}) {CLOCK} (?P<y>\d{{4}})\b",
    rf"(?P<mon>{MONTH}) {{1,2}}(?P<d>\d{{1,2}}) {CLOCK}",
    rf"[IWEF](?P<mo>\d{{1,2}})(?P<d>\d{{2}}) {CLOCK}",
    rf"(?P<mo>\d{{2}})/(?P<d>\d{{2}}) {CLOCK}",
)]
UPTIME = re.compile(r"^(?:<\d+>)?\[ {0,7}(?P<s>\d{1,9})\.(?P<f>\d{3,6})\]")
MLLOG = re.compile(r'^.{0,24}:::MLL(?:OG)? .{0,40}"time_ms": (?P<ms>\d{13})')


def stamp(text, year):
    """(kind, epoch nanoseconds) of the time a line begins with, or None. Kind tells clocks apart that cannot be compared."""
    if found := MLLOG.match(text):
        return "epoch", int(found["ms"]) * MILLISECOND
    if found := UPTIME.match(text):
        return "uptime", SYNTHETIC_START + int(found["s"]) * SECOND + fraction(found["f"])
    head = text[:LOOK_WITHIN]
    for pattern in FORMATS:
        if found := pattern.match(head):
            when = calendar_time(found.groupdict(), year)
            if when is not None:
                return "wall", when
    return None


def calendar_time(parts, year):
    """Epoch nanoseconds of a calendar time, or None where there is no such day."""
    month = MONTHS[parts["mon"]] if parts.get("mon") else int(parts["mo"])
    try:
        when = datetime(int(parts.get("y") or year), month, int(parts["d"]),
                        int(parts["h"]), int(parts["mi"]), int(parts["s"]), tzinfo=timezone.utc)
    except ValueError:
        return None
    zone = parts.get("zone")
    offset = 0
    if zone and zone != "Z":
        digits = zone.replace(":", "")
        offset = (int(digits[1:3]) * 3600 + int(digits[3:5]) * 60) * (-1 if digits[0] == "-" else 1)
    return (int(when.timestamp()) - offset) * SECOND + fraction(parts.get("f"))


def fraction(digits):
    return int((digits or "0").ljust(9, "0")[:9])


def times(lines):
    """A time for each line, in nanoseconds, never going back, and whether the log itself carries times.

    A line has its own stamp; others lie evenly between the stamped lines around them, and a second apart before the first stamp, after
    the last one, and where there is none at all. The rest of a record (a traceback, an indented or an empty line) stays with it.

    Stamps that lack a year take the year that another line names. A stamp of another clock than the first one's, one from
    before the line above, or one more than a week after it, is not believed.
    """
    year = next((int(found["y"]) for text in lines if (found := FORMATS[0].match(text[:LOOK_WITHIN]))
                 or (found := FORMATS[1].match(text[:LOOK_WITHIN]))), 2026)
    anchors = believed([stamp(text, year) for text in lines])
    begins = record_begins(lines, anchors)
    places = [index for index, begin in enumerate(begins) if begin]
    when = dict(zip(places, spread([anchors.get(index) for index in places])))
    result, now = [], None
    for index in range(len(lines)):
        now = when.get(index, SYNTHETIC_START if now is None else now)
        result.append(now)
    return result, len(anchors) > 1


def believed(stamps):
    """{index: time} of the stamps that can be true."""
    result, clock, last = {}, None, None
    for index, found in enumerate(stamps):
        if not found:
            continue
        if last is None or (found[0] == clock and last <= found[1] <= last + LARGEST_GAP):
            clock, last = found
            result[index] = last
    return result


CONTINUES = re.compile(r"^(?:\s|$|During handling of the above|The above exception was)")
OWN = re.compile(r"^\s*(?:\d|\S.{0,60}%\|)")   # an indented row of a table, or a bar


def record_begins(lines, anchors):
    """For each line, whether a record begins with it."""
    filled = [text for text in lines if text.strip()]
    indented = 2 * sum(text[:1] in " \t" for text in filled) > len(filled)     # the log's own manner, and nothing of records
    result, within = [], False
    for index, text in enumerate(lines):
        inner = bool(CONTINUES.match(text)) and not (text.strip() and (indented or OWN.match(text)))
        begins = index == 0 or index in anchors or not (inner or within)
        if text.startswith("Traceback (most recent call last)"):
            within = True
        elif within and text.strip() and not CONTINUES.match(text):
            within = False                                                      # the exception itself ends it
        result.append(begins)
    return result


def spread(known):
    """Times for records of which some are known."""
    places = [index for index, time in enumerate(known) if time is not None]
    if not places:
        return [SYNTHETIC_START + index * SECOND for index in range(len(known))]
    result = [known[places[0]] - (places[0] - index) * SECOND for index in range(places[0])]
    for place, following in zip(places, places[1:]):
        width = known[following] - known[place]
        result += [known[place] + width * index // (following - place) for index in range(following - place)]
    return result + [known[places[-1]] + index * SECOND for index in range(len(known) - places[-1])]
