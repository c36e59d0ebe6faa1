// One job: its figures, alerts, ranks and verdicts, and what no rule can decide about it.

const PAST_AT_FIRST = 20, MOST_FIRING = 200;

function job_figures(found) {
  const spread = (times) => (times ? [duration(times.median), `${duration(times.least)} to ${duration(times.greatest)}`] : [UNKNOWN]);
  return h("dl", {class: "tiles"},
    tile("State", state_mark(found.state)),
    tile("Ranks", whole_number(found.ranks)),
    tile("Step", whole_number(found.step)),
    tile("Steps a second", figure(found.steps_per_second, 3, true)),
    tile("Step time, median", ...spread(found.step_time)),
    tile("Loss", figure(found.loss, 4, true)),
    tile("Goodput", percent(found.goodput)),
    tile("Lost GPU hours", gpu_hours(found.lost_gpu_seconds)));
}

function job_missing(name) {
  return h("p", {class: "empty"}, "This instance judges no job ", named(name), " now. It may not have begun, be forgotten since its end, ",
    "or belong to a partition of another instance: ", h("a", {href: "#engine"}, "Engine"), " says which are here.");
}

const STANDINGS = [["in", "In", "a rule found it"], ["undecidable", "Undecidable", "not enough was known"],
  ["out", "Out", "each of its rules could decide, and none fired"]];

function family_line(line) {
  const details = [line.rules?.length ? ["rules ", line.rules.map((rule, i) => [i ? ", " : "", rule_link(rule)])] : null,
                   line.missing?.length ? [line.rules?.length ? "; " : "", "misses ", line.missing.map(plain).join(", ")] : null].filter(Boolean);
  return h("li", {}, h("b", {}, plain(line.family)), line.words ? ` ${plain(line.words)}` : "",
    details.length ? h("span", {class: "quiet"}, ": ", details) : "");
}

function verdict_article({verdict, attempt, ended, subject}, now) {
  const nothing = verdict.end_reason === "failed" ? "It failed, and no cause was found" : "No fault found";
  const families = (verdict.families ?? []);
  const lines = (title, texts, properties) => (texts?.length
    ? h("details", {class: "standing", ...properties}, h("summary", {}, h("b", {}, title)),
      h("ul", {}, texts.map((text) => h("li", {class: "text"}, text)))) : null);
  return h("article", {class: "verdict", key: `${subject} ${attempt} ${ended}`},
    h("h3", {}, verdict.family ? family_text(verdict.family, verdict.family_words) : nothing),
    h("p", {class: "quiet"}, attempt ? `attempt ${plain(attempt)} · ` : "", "ended ", time(milliseconds(ended), now),
      verdict.end_reason ? `: ${plain(verdict.end_reason)}` : "",
      verdict.training === false ? " · not a training: no step, no loss, one rank" : ""),
    verdict.shows?.length ? h("ul", {}, verdict.shows.map((text) => h("li", {class: "text"}, text))) : null,
    STANDINGS.map(([standing, title, meaning]) => {
      const here = families.filter((line) => line.standing === standing);
      if (here.length === 0) return null;
      return h("details", {class: "standing", key: standing, open: standing === "in"},
        h("summary", {}, h("b", {}, `${title}: ${plural(here.length, "family", "families")}`), h("span", {class: "quiet"}, ` (${meaning})`)),
        h("ul", {}, here.map(family_line)));
    }),
    lines("Why it cannot decide", verdict.cannot_decide, {key: "why"}), lines("Rules that failed", verdict.quarantined, {key: "failed", open: true}));
}

// `undecided`: [{rule, missing: [signal, …]}, …]. A rule that misses none has too little of what it needs.
function undecided_section(undecided) {
  if (!Array.isArray(undecided)) return null;
  const body = undecided.length === 0 ? h("p", {class: "quiet"}, "Every rule of this job can.") : [
    h("p", {class: "quiet"}, "No record of this attempt has the signals that they need. A missing signal is never taken as healthy."),
    h("details", {open: undecided.length <= 10}, h("summary", {}, plural(undecided.length, "rule", "rules")),
      h("table", {class: "plain"}, h("caption", {class: "unseen"}, "Rules that cannot decide"),
        h("thead", {}, h("tr", {}, h("th", {scope: "col"}, "Rule"), h("th", {scope: "col"}, "Misses"))),
        h("tbody", {}, undecided.map(({rule, missing}) => h("tr", {key: rule}, h("th", {scope: "row"}, rule_link(rule)),
          h("td", {}, missing?.length ? missing.map((signal, i) => [i ? ", " : "", h("code", {}, plain(signal))])
                                      : h("span", {class: "quiet"}, "no signal, but has too few values so far"))))))),
  ];
  return h("section", {"aria-labelledby": "undecided", key: "undecided"}, h("h2", {id: "undecided"}, "Rules that cannot decide"), body);
}

const shown_past = (route) => Math.min(Math.max(Number(route.parameters.past) || PAST_AT_FIRST, PAST_AT_FIRST), 1000);

const job = {
  asks: (route) => ({
    jobs: ["jobs", {job: route.parameters.job}],
    firing: ["alerts", {job: route.parameters.job, state: "firing", limit: MOST_FIRING}],
    past: ["alerts", {job: route.parameters.job, state: "resolved", limit: shown_past(route)}],
    verdicts: ["verdicts", {job: route.parameters.job, limit: 10}],
  }),
  title: (data, route) => plain(route.parameters.job),

  draws(data, route) {
    const name = route.parameters.job, now = server_now();
    const found = data.jobs.find((one) => one.job === name);
    const firing = [...data.firing].sort(worst_first);
    const where = found && [found.attempt ? `attempt ${plain(found.attempt)}` : "", `partition ${found.partition}`].filter(Boolean).join(" · ");
    return [
      h("h1", {}, named(name)),
      found ? [h("p", {class: "quiet"}, where), job_figures(found)] : job_missing(name),
      h("section", {"aria-labelledby": "firing", key: "firing"}, h("h2", {id: "firing"}, "Firing now"),
        firing.length ? firing.map((one) => alert_card(one, now)) : h("p", {class: "quiet"}, "No alert fires.")),
      found ? ranks_section(found, firing_of(firing), route) : null,
      data.past.length ? h("section", {"aria-labelledby": "past", key: "past"}, h("h2", {id: "past"}, "Recent alerts"),
        data.past.map((one) => past_alert(one, now)),
        data.past.length >= shown_past(route)
          ? h("button", {type: "button", class: "more", onclick: () => { refine({past: 5 * shown_past(route)}); look(); }}, "More") : null) : null,
      data.verdicts.length ? h("section", {"aria-labelledby": "verdicts", key: "verdicts"}, h("h2", {id: "verdicts"}, "Verdicts"),
        data.verdicts.map((one) => verdict_article(one, now))) : null,
      found ? undecided_section(found.undecided) : null,
    ];
  },
};
