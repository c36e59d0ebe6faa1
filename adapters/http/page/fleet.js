// All jobs, and above them what fires now. The worst comes first.

const STATES = ["hung", "unobserved", "starting", "running", "ended"];
const MOST_JOBS = 10_000, MOST_ROWS = 1000, MOST_ALERTS = 100, ALERTS_AT_FIRST = 8;

const firing_count = (job, severity) => job.alerts.filter((alert) => alert.severity === severity).length;

// Where a job stands among all: critical alerts first, then warnings, then what hangs, then names.
const standing = new WeakMap();
function worst_jobs_first(jobs) {
  const counted = jobs.map((job) => ({job, bad: [firing_count(job, "critical"), firing_count(job, "warning"), Number(job.state === "hung")]}));
  const all = counted.sort((a, b) => b.bad[0] - a.bad[0] || b.bad[1] - a.bad[1] || b.bad[2] - a.bad[2] || by_name(a.job.job, b.job.job));
  all.forEach(({job}, i) => standing.set(job, i));
  return all.map(({job}) => job);
}

const COLUMNS = [
  {id: "job", title: "Job", value: (job) => job.job, cell: (job) => job_link(job.job)},
  {id: "state", title: "State", value: (job) => STATES.indexOf(job.state), cell: (job) => state_mark(job.state)},
  {id: "alerts", title: "Alerts", value: (job) => standing.get(job), cell: (job) => SEVERITIES.slice(0, 3).map((severity) => {
    const count = firing_count(job, severity);
    return count > 0 ? [h("span", {class: `mark ${severity}`}, `${whole_number(count)} ${severity}`), " "] : null;
  })},
  {id: "ranks", title: "Ranks", number: true, largest_first: true, value: (job) => job.ranks, cell: (job) => whole_number(job.ranks)},
  {id: "step", title: "Step", number: true, largest_first: true, value: (job) => job.step, cell: (job) => whole_number(job.step)},
  {id: "rate", title: "Steps a second", number: true, value: (job) => job.steps_per_second, cell: (job) => figure(job.steps_per_second, 3, true)},
  {id: "loss", title: "Loss", number: true, largest_first: true, value: (job) => job.loss, cell: (job) => figure(job.loss, 4, true)},
  {id: "goodput", title: "Goodput", number: true, value: (job) => job.goodput, cell: (job) => percent(job.goodput)},
  {id: "lost", title: "Lost GPU hours", number: true, largest_first: true, value: (job) => job.lost_gpu_seconds,
   cell: (job) => gpu_hours(job.lost_gpu_seconds)},
];

function state_filters(jobs, chosen) {
  const chip = (state, text, count) => h("button", {
    type: "button", class: `chip ${state}`, "aria-pressed": String(chosen === state), disabled: state !== "" && count === 0 && chosen !== state,
    onclick: () => refine({state: chosen === state ? "" : state}),
  }, h("b", {}, whole_number(count)), " ", text);
  return h("div", {class: "chips", role: "group", "aria-label": "Jobs by state"}, chip("", jobs.length === 1 ? "job" : "jobs", jobs.length),
    STATES.map((state) => chip(state, state, jobs.filter((job) => job.state === state).length)));
}

function firing_row(alert, now) {
  return h("li", {key: alert.id, class: alert.severity}, severity_mark(alert.severity),
    h("span", {class: "what"}, alert_link(alert, plain(alert.summary || alert.rule)), " ",
      h("span", {class: "quiet"}, [plain(alert.family), who_text(alert)].filter(Boolean).join(" · "))),
    h("span", {class: "of"}, job_link(alert.subject)),
    h("span", {class: "when"}, age(milliseconds(alert.since), now)));
}

// Critical ones and warnings: of info the jobs have the number.
function firing_list(data, route, now) {
  const all = firing_of([...data.critical, ...data.warning]).sort(worst_first);
  const more = data.critical.length >= MOST_ALERTS || data.warning.length >= MOST_ALERTS;
  if (all.length === 0) return data.jobs.length ? h("p", {class: "calm", key: "firing"}, "Nothing critical and no warning fires.") : null;
  const every = route.parameters.alerts === "all";
  const shown = every ? all : all.slice(0, ALERTS_AT_FIRST);
  return h("section", {"aria-labelledby": "firing", key: "firing"}, h("h2", {id: "firing"}, "Firing now"),
    h("ul", {class: "firing"}, shown.map((alert) => firing_row(alert, now))),
    all.length > ALERTS_AT_FIRST
      ? h("button", {type: "button", class: "more", onclick: () => refine({alerts: every ? "" : "all"})},
        every ? `Only the ${ALERTS_AT_FIRST} worst` : `All ${all.length}${more ? " newest" : ""}`)
      : null);
}

function no_jobs() {
  return h("div", {class: "empty"}, h("p", {}, h("strong", {}, "There are no jobs yet.")),
    h("p", {}, "A job comes here with its first record. Start one with its address of Kafka:"),
    h("pre", {}, "tocsin wrap --to kafka://BROKER:9092 -- torchrun train.py"),
    h("p", {}, "or let tocsin read the topics of other programs: ", h("code", {}, "ingest:"), " in its configuration. ",
      "Jobs of partitions that another instance judges are on that instance's page; ", h("a", {href: "#engine"}, "Engine"), " says which are here."));
}

const fleet = {
  asks: () => ({
    jobs: ["jobs", {by_rank: "no", limit: MOST_JOBS}],
    critical: ["alerts", {state: "firing", severity: "critical", limit: MOST_ALERTS}],
    warning: ["alerts", {state: "firing", severity: "warning", limit: MOST_ALERTS}],
  }),

  title(data) {
    const count = (severity) => data.jobs.reduce((sum, job) => sum + firing_count(job, severity), 0);
    const parts = ["critical", "warning"].map((severity) => [count(severity), severity]).filter(([number]) => number > 0);
    return parts.length ? parts.map(([number, severity]) => `${number} ${severity}`).join(", ") : "Fleet";
  },

  draws(data, route) {
    const {find = "", state = ""} = route.parameters;
    const jobs = worst_jobs_first(data.jobs);
    const wanted = jobs.filter((job) => (!state || job.state === state) && holds(job.job, find));
    const {column, sort, on_sort} = sort_of(route, COLUMNS, "alerts");
    const rows = sorted(wanted, column, sort.down);
    const lost = jobs.reduce((sum, job) => sum + (job.lost_gpu_seconds ?? 0), 0);
    return [
      h("h1", {class: "unseen"}, "Fleet"),
      firing_list(data, route, server_now()),
      h("section", {"aria-labelledby": "jobs", key: "jobs"},
        h("h2", {id: "jobs"}, "Jobs"),
        jobs.length === 0 ? no_jobs() : [
          h("div", {class: "controls"}, state_filters(jobs, state), filter_box("Find a job", find),
            lost > 0 ? h("p", {class: "sum"}, h("b", {}, gpu_hours(lost)), " GPU hours lost by the attempts of these jobs") : null),
          data.jobs.length >= MOST_JOBS ? h("p", {class: "quiet"}, `Only ${whole_number(MOST_JOBS)} jobs of this instance are looked at.`) : null,
          rows.length === 0 ? h("p", {class: "empty"}, "No job is called so, or in this state. ",
            h("button", {type: "button", class: "more", onclick: () => refine({find: "", state: ""})}, "Show all"))
                            : table("Jobs", COLUMNS, rows.slice(0, MOST_ROWS), {
                              sort, on_sort, class: "cards jobs", row: (job) => ({
                                key: `${job.partition} ${job.job}`, signature: JSON.stringify(job),
                                class: firing_count(job, "critical") ? "critical" : firing_count(job, "warning") ? "warning" : undefined}),
                            }),
          rows.length > MOST_ROWS
            ? h("p", {class: "quiet"}, `The first ${whole_number(MOST_ROWS)} of ${whole_number(rows.length)}: find a job by its name.`) : null,
        ]),
    ];
  },
};
