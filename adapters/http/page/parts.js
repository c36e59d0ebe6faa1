// Parts that several views have.

const SEVERITIES = ["critical", "warning", "info", "none"];
const severity_order = (severity) => (SEVERITIES.indexOf(severity) + 1 || 9);

const severity_mark = (severity) => h("span", {class: `mark ${SEVERITIES.includes(severity) ? severity : ""}`}, plain(severity));
const state_mark = (state) => h("span", {class: `state ${plain(state)}`}, plain(state));
const job_link = (name, properties) => h("a", {...properties, href: link_to({job: name})}, named(name));
const alert_link = (alert, text) => h("a", {href: link_to({alert: alert.id})}, text);
const rule_link = (name) => h("a", {href: link_to({rules: "", find: name})}, named(name));

const family_text = (family, words) => (family ? plain(family) + (words ? ", " + plain(words) : "") : "");

// What is about this member: "rank 3 on n1", "GPU 0 of n1", "n1", "rack r1", "the job"
function member_text(member) {
  const node = member.node && plain(member.node);
  if (is_there(member.rank)) return `rank ${member.rank}` + (node ? ` on ${node}` : "") + (member.gpu ? `, GPU ${plain(member.gpu)}` : "");
  if (member.gpu) return `GPU ${plain(member.gpu)}` + (node ? ` of ${node}` : "");
  if (node) return node;
  return member.rack ? `rack ${plain(member.rack)}` : "the job";
}

// Who it is: the member, or of an alert about the whole job those that it names.
function who_text(alert) {
  const named_ranks = (alert.who ?? []).filter((one) => typeof one === "number");
  const others = (alert.who ?? []).filter((one) => typeof one !== "number" && one !== "job").map(plain);
  if ((alert.member?.level ?? "job") !== "job") return member_text(alert.member);
  const some = (list) => list.slice(0, 4).join(", ") + (list.length > 4 ? ` and ${list.length - 4} more` : "");
  return [named_ranks.length ? `${named_ranks.length === 1 ? "rank" : "ranks"} ${some(named_ranks)}` : "", some(others)].filter(Boolean).join("; ");
}

const firing_of = (alerts) => alerts.filter((alert) => alert.state === "firing" && alert.mode === "live" && alert.severity !== "none");
const worst_first = (a, b) => severity_order(a.severity) - severity_order(b.severity) || b.since - a.since;

const tile = (title, value, note) => h("div", {class: "tile"}, h("dt", {}, title), h("dd", {}, value, note ? h("small", {}, note) : null));

// What is unknown has a class: a card of a narrow screen leaves it out.
function cell_of(column, row) {
  const cell = column.cell(row);
  return cell === UNKNOWN ? h("span", {class: "unknown"}, cell) : cell;
}

// A table whose columns sort. columns: {id, title, number, value(row), cell(row)}; options: sort {by, down}, row(row) gives key, signature
// and class, on_sort(id).
function table(caption, columns, rows, options) {
  const {by, down} = options.sort;
  const head = columns.map((column) => h("th", {
    scope: "col", role: "columnheader", class: column.number ? "number" : undefined,
    "aria-sort": column.id === by ? (down ? "descending" : "ascending") : undefined,
  }, column.value ? h("button", {type: "button", onclick: () => options.on_sort(column)}, column.title) : column.title));
  const body = rows.map((row) => {
    const {key, signature, ...properties} = options.row(row);
    return unless_same(key, signature, () => h("tr", {role: "row", ...properties}, columns.map((column, i) => h(i === 0 ? "th" : "td", {
      scope: i === 0 ? "row" : undefined, role: i === 0 ? "rowheader" : "cell", "data-title": column.title,
      class: [column.number ? "number" : "", column.class ?? ""].join(" ").trim() || undefined,
    }, cell_of(column, row)))));
  });
  return h("table", {role: "table", class: options.class}, h("caption", {class: "unseen"}, caption),
    h("thead", {role: "rowgroup"}, h("tr", {role: "row"}, head)), h("tbody", {role: "rowgroup"}, body));
}

// Rows by a column's values; what has none comes last whichever way. Where they are the same, as they came.
function sorted(rows, column, down) {
  const with_values = rows.map((row) => [column.value(row), row]);
  const missing = (value) => !is_there(value) || value === "";
  return with_values.sort(([a], [b]) => {
    if (missing(a) || missing(b)) return Number(missing(a)) - Number(missing(b));
    const order = typeof a === "number" && typeof b === "number" ? a - b : by_name(String(a), String(b));
    return down ? -order : order;
  }).map(([, row]) => row);
}

// The sort that the address names, and what a click on a column's head makes of it.
function sort_of(route, columns, usual) {
  const column = columns.find((one) => one.id === route.parameters.sort && one.value) ?? columns.find((one) => one.id === usual);
  const first = column.largest_first ?? false;
  const down = route.parameters.order ? route.parameters.order === "down" : first;
  const on_sort = (clicked) => {
    const turn = clicked.id === column.id ? !down : clicked.largest_first ?? false;
    refine({sort: clicked.id === usual ? undefined : clicked.id,
            order: turn === (clicked.largest_first ?? false) ? undefined : turn ? "down" : "up"});
  };
  return {column, sort: {by: column.id, down}, on_sort};
}

const filter_box = (label, value) => h("label", {class: "filter"}, h("span", {}, label),
  h("input", {type: "search", value, autocomplete: "off", spellcheck: "false", oninput: (event) => refine({find: event.target.value})}));
const holds = (text, part) => String(text).toLowerCase().includes(part.toLowerCase());
