// The ranks of a job: a bar for each, relative to the median, and a table.

const MEASURES = {
  compute_time: "Compute time",
  step_time: "Step time",
};
const SLOW = 1.25;      // times the median: a bar is marked
const FULL = 2;         // times the median: a bar that is as high as there is room

function median_of(values) {
  const known = values.filter(is_number).sort((a, b) => a - b);
  if (known.length === 0) return undefined;
  const middle = Math.floor(known.length / 2);
  return known.length % 2 ? known[middle] : (known[middle - 1] + known[middle]) / 2;
}

// What is shown of a rank beside its values.
function with_relations(ranks, measure, alerts) {
  const median = median_of(ranks.map((rank) => rank[measure]));
  const furthest = Math.max(...ranks.map((rank) => rank.step).filter(is_number));
  return ranks.map((rank) => ({
    ...rank,
    value: rank[measure],
    ratio: is_number(rank[measure]) && median > 0 ? rank[measure] / median : undefined,
    behind: is_number(rank.step) && Number.isFinite(furthest) ? furthest - rank.step : undefined,
    alerts: alerts.filter((alert) => alert.member.rank === rank.rank || (alert.who ?? []).includes(rank.rank)),
  }));
}

const times_median = (ratio) => (is_number(ratio) ? `${english(ratio, {minimumFractionDigits: 2, maximumFractionDigits: 2})} × median` : UNKNOWN);

function rank_text(rank, measure) {
  const what = MEASURES[measure].toLowerCase();
  return [
    `rank ${rank.rank}` + (rank.node ? ` on ${plain(rank.node)}` : ""),
    is_number(rank.value) ? `${what} ${duration(rank.value)}, ${times_median(rank.ratio)}` : `${what} not known`,
    is_number(rank.step) ? `step ${whole_number(rank.step)}` + (rank.behind > 0 ? `, ${whole_number(rank.behind)} behind` : "") : "",
    rank.alerts.length ? "alert: " + rank.alerts.map((alert) => plain(alert.rule)).join(", ") : "",
  ].filter(Boolean).join(" · ");
}

// Which bar is looked at; in one job at a time.
const looked_at = {place: undefined, rank: undefined};

function step_along(event) {
  const by = {ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1}[event.key];
  const bars = [...event.currentTarget.querySelectorAll("button")];
  const at = bars.indexOf(document.activeElement);
  const to = event.key === "Home" ? 0 : event.key === "End" ? bars.length - 1 : by ? at + by : undefined;
  if (to === undefined || !bars[to]) return;
  event.preventDefault();
  bars[to].focus();
}

function strip(ranks, measure, job_name) {
  const place = `${job_name} ${measure}`;
  if (looked_at.place !== place) Object.assign(looked_at, {place, rank: undefined});
  const slowest = ranks.reduce((worst, rank) => ((rank.ratio ?? 0) > (worst?.ratio ?? 0) ? rank : worst), undefined);
  const blamed = ranks.find((rank) => rank.alerts.length > 0);
  const current = ranks.find((rank) => rank.rank === looked_at.rank);
  const look_at = (rank) => () => {
    if (looked_at.rank === rank.rank) return;
    looked_at.rank = rank.rank;
    show();
  };
  const bar = (rank, i) => {
    const kind = rank.ratio === undefined ? "unknown" : rank.ratio >= SLOW ? "slow" : "usual";
    return h("button", {
      type: "button", key: rank.rank, class: `bar ${kind}` + (rank.alerts.length ? " blamed" : "") + (rank === current ? " current" : "") +
        (i > 0 && rank.node !== ranks[i - 1].node ? " next-node" : ""),
      style: {"--height": String(Math.min(rank.ratio ?? 0, FULL) / FULL)}, "aria-label": rank_text(rank, measure),
      tabindex: rank === (current ?? ranks[0]) ? "0" : "-1", onfocus: look_at(rank), onmouseenter: look_at(rank), onclick: look_at(rank),
    }, h("i", {}));
  };
  return [
    h("div", {class: "strip" + (ranks.length > 64 ? " many" : ""), role: "group", style: {"--ranks": String(ranks.length)}, onkeydown: step_along,
              "aria-label": `${MEASURES[measure]} of ${ranks.length} ranks; arrow keys go from one to the next`}, ranks.map(bar)),
    h("p", {class: "readout"}, current ? rank_text(current, measure)
      : blamed && !(slowest?.ratio >= SLOW) ? rank_text(blamed, measure)
      : slowest ? ["slowest: ", rank_text(slowest, measure)] : "no rank has this value"),
    h("p", {class: "quiet legend"}, `A bar is a rank; the line is the median, and the top twice that; a gap: another node. `,
      `Marked: ${english(SLOW)} times the median or more. `,
      ranks.some((rank) => rank.alerts.length) ? "▲ below: an alert that fires names it." : ""),
  ];
}

const RANK_COLUMNS = [
  {id: "rank", title: "Rank", number: true, value: (rank) => rank.rank, cell: (rank) => String(rank.rank)},
  {id: "node", title: "Node", value: (rank) => rank.node, cell: (rank) => (rank.node ? named(rank.node) : UNKNOWN)},
  {id: "ratio", title: "To the median", number: true, largest_first: true, value: (rank) => rank.ratio,
   cell: (rank) => (rank.ratio >= SLOW ? h("b", {class: "slow"}, times_median(rank.ratio)) : times_median(rank.ratio))},
  {id: "compute", title: "Compute time", number: true, largest_first: true, value: (rank) => rank.compute_time, cell: (rank) => duration(rank.compute_time)},
  {id: "time", title: "Step time", number: true, largest_first: true, value: (rank) => rank.step_time, cell: (rank) => duration(rank.step_time)},
  {id: "step", title: "Step", number: true, value: (rank) => rank.step,
   cell: (rank) => [whole_number(rank.step), rank.behind > 0 ? h("b", {class: "slow"}, ` (${whole_number(rank.behind)} behind)`) : ""]},
  {id: "alerts", title: "Alerts", largest_first: true, value: (rank) => rank.alerts.length || undefined,
   cell: (rank) => rank.alerts.map((alert, i) => [i ? ", " : "", alert_link(alert, plain(alert.rule))])},
];

function spread_line(title, spread) {
  if (!spread) return null;
  return h("p", {}, `${title} over ${plural(spread.ranks, "rank", "ranks")}: least ${duration(spread.least)}, median ${duration(spread.median)}, `,
    `90th percentile ${duration(spread.p90)}, greatest ${duration(spread.greatest)}.`);
}

function ranks_section(found, alerts, route) {
  const heading = h("h2", {id: "ranks"}, "Ranks");
  const spreads = [spread_line("Compute time", found.compute_time), spread_line("Step time", found.step_time)];
  if (found.by_rank.length === 0) {
    const many = found.ranks > 256;
    return h("section", {"aria-labelledby": "ranks", key: "ranks"}, heading, spreads,
      h("p", {class: "quiet"}, many ? `A job of more than 256 ranks is shown by these figures alone; alerts name their ranks.`
                                    : "No record of this job names a rank yet. A rank is known by the environment of its process (RANK), or by its lines."));
  }
  const has = (measure) => found.by_rank.some((rank) => is_number(rank[measure]));
  const measure = Object.hasOwn(MEASURES, route.parameters.of ?? "") ? route.parameters.of : has("compute_time") ? "compute_time" : "step_time";
  const ranks = with_relations(found.by_rank, measure, alerts);
  const {column, sort, on_sort} = sort_of(route, RANK_COLUMNS, "rank");
  return h("section", {"aria-labelledby": "ranks", key: "ranks"}, heading,
    has("compute_time") || has("step_time")
      ? h("div", {class: "chips", role: "group", "aria-label": "Value of the bars"}, Object.entries(MEASURES).map(([name, title]) =>
        h("button", {type: "button", class: "chip", "aria-pressed": String(name === measure), disabled: !has(name) && name !== measure,
                     onclick: () => refine({of: name})}, title))) : null,
    has(measure) ? strip(ranks, measure, found.job)
                 : h("p", {class: "quiet"}, "No rank has a time of its steps yet: the job prints none that a parser reads, and has made too few steps."),
    spreads,
    h("details", {class: "rank-table", open: ranks.length <= 16}, h("summary", {}, `${plural(ranks.length, "rank", "ranks")} as a table`),
      table("Ranks", RANK_COLUMNS, sorted(ranks, column, sort.down), {
        sort, on_sort, class: "cards",
        row: (rank) => ({key: rank.rank, signature: JSON.stringify(rank), class: rank.alerts.length ? "warning" : undefined})})));
}
