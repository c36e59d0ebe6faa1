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
    rf"(?:[A-Z][a-z]{{2}} )?(?P<mon>{MONTH}) {{1,2}}(?P<d>\d{{1,2}}) {CLOCK} (?P<y>\d{{4}})",
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
    """A time for each line, in nanoseconds, never going back: its own stamp, else 1 ms after the line before.

    Stamps that lack a year take the year that another line names. A stamp of another clock than the first one's, one from
    before the line above, or one more than a week after it, is not believed.
    """
    year = next((int(found["y"]) for text in lines if (found := FORMATS[0].match(text[:LOOK_WITHIN]))
                 or (found := FORMATS[1].match(text[:LOOK_WITHIN]))), 2026)
    stamps = [stamp(text, year) for text in lines]
    first = next((index for index, found in enumerate(stamps) if found), None)
    if first is None:
        return [SYNTHETIC_START + index * MILLISECOND for index in range(len(lines))]
    clock, start = stamps[first]
    now = start - (first + 1) * MILLISECOND
    result = []
    for found in stamps:
        now += MILLISECOND
        if found and found[0] == clock and now < found[1] <= now + LARGEST_GAP:
            now = found[1]
        result.append(now)
    return result
