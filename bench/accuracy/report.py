"""The accuracy report as text."""

import statistics

from score import CANCELLED, HEALTHY, macro_f1, shares, table


def write(scores, covered, out):
    """The table, every fault by item, and the line of totals last."""
    rows = table(scores)
    print(f"{'family':<9} {'items':>5} {'found':>5} {'missed':>6} {'false':>5} {'culprit':>7} {'F1':>5} {'seconds to detect':>24}",
          file=out)
    for family in sorted(rows):
        print(line(rows[family]), file=out)
    faults = [score for score in scores if score.scored and score.fault()]
    if faults:
        print("\nnot right (item: what was wrong; what the verdict named; what fired):", file=out)
    for score in sorted(faults, key=lambda score: (score.item["family"], score.item["id"])):
        print(f"  {score.item['family']:<8} {score.item['id']}: {score.fault()}; verdict {score.answer.predicted}; "
              f"fired {fired(score.answer)}", file=out)
    healthy_logs(scores, out)
    absent = sorted(family for family in rows if rows[family].items and family not in covered | {CANCELLED})
    print(f"\nnot covered: {', '.join(absent) or 'none'}", file=out)
    unscored = sum(not score.scored for score in scores)
    if unscored:
        print(f"not scored: {unscored} items without a label that decides", file=out)
    print(totals(scores, rows, covered), file=out)


def healthy_logs(scores, out):
    """Alarms over healthy logs, by log and hour, and what was read of them."""
    rows = shares(scores)
    if rows:
        print(f"\n{'healthy logs':<20} {'logs':>5} {'hours':>7} {'alarmed':>7} {'alerts':>6} {'an hour':>7} {'step read':>10} {'loss read':>10}", file=out)
    for name, share in sorted(rows.items()):
        rate = f"{share.alerts / share.hours:.3f}" if share.hours else ""
        read = [f"{share.read[what]} of {share.prints[what]}" for what in ("step", "loss")]
        print(f"{name:<20} {share.logs:>5} {share.hours:>7.1f} {share.alarmed:>7} {share.alerts:>6} {rate:>7} {read[0]:>10} {read[1]:>10}",
              file=out)
    for what in ("step", "loss"):
        unread = [score.item["id"] for score in scores if score.scored and what in score.item.get("prints", [])
                  and score.item["family"] == HEALTHY and score.item.get("half") and not score.answer.read.get(what)]
        if unread:
            print(f"{what} not read: {', '.join(sorted(unread))}", file=out)


def line(row):
    seconds = ""
    if row.seconds:
        seconds = f"median {statistics.median(row.seconds):.0f}, most {max(row.seconds):.0f}"
    f1 = row.f1()
    return (f"{row.family:<9} {row.items:>5} {row.found:>5} {row.missed:>6} {row.false_alarms:>5} {row.wrong_culprit:>7} "
            f"{'' if f1 is None else format(f1, '.2f'):>5} {seconds:>24}").rstrip()


def fired(answer):
    """The rules that fired, once each, with the ranks that they named."""
    names = {}
    for alert in answer.fired:
        member = (alert.get("member") or {}).get("rank")
        ranks = alert.get("who") or ([] if member is None else [member])
        names.setdefault(f"{alert.get('family')}:{alert.get('rule')}", set()).update(ranks)
    return ", ".join(name + (f" ranks {sorted(ranks)}" if ranks else "") for name, ranks in names.items()) or "nothing"


def totals(scores, rows, covered):
    """The last line. Found and missed count faults; healthy and cancelled items show in false_alarms alone."""
    faulty = [row for row in rows.values() if row.family not in (HEALTHY, CANCELLED)]
    alarms = sum(bool(score.false_families) for score in scores if score.scored)
    return (f"macro_f1={macro_f1(rows, covered):.3f} found={sum(row.found for row in faulty)} "
            f"missed={sum(row.missed for row in faulty)} false_alarms={alarms} "
            f"wrong_culprit={sum(row.wrong_culprit for row in rows.values())}")
