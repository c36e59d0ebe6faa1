// The rules in force, and the instance that answers.

const RULE_COLUMNS = [
  {id: "name", title: "Rule", value: (rule) => rule.name, cell: (rule) => named(rule.name)},
  {id: "family", title: "Family", value: (rule) => rule.family, cell: (rule) => plain(rule.family)},
  {id: "severity", title: "Severity", value: (rule) => severity_order(rule.severity), cell: (rule) => severity_mark(rule.severity)},
  {id: "mode", title: "Mode", value: (rule) => rule.mode, cell: (rule) => plain(rule.mode)},
  {id: "summary", title: "Summary", class: "wide", value: (rule) => rule.summary, cell: (rule) => plain(rule.summary)},
  {id: "file", title: "Defined in", value: (rule) => `${rule.file}:${String(rule.line).padStart(6)}`,
   cell: (rule) => h("code", {}, `${plain(rule.file)}:${rule.line}`)},
];

const rules = {
  asks: () => ({rules: ["rules"]}),
  title: () => "Rules",

  draws(data, route) {
    const {find = ""} = route.parameters;
    const wanted = data.rules.filter((rule) => [rule.name, rule.family, rule.severity, rule.mode, rule.summary, rule.file].some((text) => holds(text, find)));
    const {column, sort, on_sort} = sort_of(route, RULE_COLUMNS, "name");
    const pack = live.status?.pack;
    return [
      h("h1", {}, "Rules"),
      h("p", {class: "quiet"}, `${plural(data.rules.length, "rule", "rules")} in force`, pack ? [", pack ", h("code", {}, plain(pack).slice(0, 8))] : "",
        ". Rules in shadow mode are evaluated but notify nobody."),
      h("div", {class: "controls"}, filter_box("Find a rule", find),
        find ? h("p", {class: "sum"}, `${whole_number(wanted.length)} of ${whole_number(data.rules.length)}`) : null),
      data.rules.length === 0 ? h("p", {class: "empty"}, "There are no rules: nothing is judged. ", h("code", {}, "rules:"),
          " in the configuration names their directories.")
      : wanted.length === 0 ? h("p", {class: "empty"}, "No rule has this in its name, family, severity, mode, summary or file. ",
        h("button", {type: "button", class: "more", onclick: () => refine({find: ""})}, "Show all"))
      : table("Rules", RULE_COLUMNS, sorted(wanted, column, sort.down),
              {sort, on_sort, class: "cards", row: (rule) => ({key: rule.name, signature: JSON.stringify(rule)})}),
    ];
  },
};

const engine = {
  asks: () => ({}),
  title: () => "Engine",

  draws() {
    const status = live.status;
    if (!status) return waiting();
    const partitions = status.partitions ?? [];
    const since = Date.parse(status.pack_since);
    const restoring = partitions.filter((one) => one.restored < 1).length;
    return [
      h("h1", {}, "Engine"),
      h("dl", {class: "form"},
        h("dt", {}, "Version"), h("dd", {}, plain(status.version)),
        h("dt", {}, "Instance"), h("dd", {}, named(status.instance || UNKNOWN), " of group ", named(status.group || UNKNOWN)),
        h("dt", {}, "Ready"), h("dd", {}, status.not_ready ? h("b", {class: "slow"}, `no: ${plain(status.not_ready)}`) : "yes"),
        h("dt", {}, "Rules in force"), h("dd", {}, "pack ", h("code", {}, plain(status.pack)),
          Number.isNaN(since) ? "" : [", since ", time(since, server_now())]),
        h("dt", {}, "Last reload"), h("dd", {}, status.reload_failure
          ? [h("b", {class: "slow"}, "failed; the rules before it judge on:"), h("pre", {class: "excerpt"}, status.reload_failure)]
          : "no failure")),
      h("h2", {}, "Partitions"),
      partitions.length === 0
        ? h("p", {class: "empty"}, "This instance has no partition yet. It gets some when it has joined its group; ",
          "where there are more instances than partitions, some wait for their turn.")
        : [h("p", {class: "quiet"}, plural(partitions.length, "partition", "partitions"), " with ",
            plural(partitions.reduce((sum, one) => sum + one.jobs, 0), "job", "jobs"),
            restoring ? `; ${plural(restoring, "partition is", "partitions are")} being restored` : "",
            ". Jobs of other partitions are on the pages of the instances that have them."),
          h("table", {class: "plain"}, h("caption", {class: "unseen"}, "Partitions"),
            h("thead", {}, h("tr", {}, ["Partition", "Jobs", "Restored"].map((title) => h("th", {scope: "col", class: "number"}, title)))),
            h("tbody", {}, partitions.map((one) => h("tr", {key: one.partition}, h("th", {scope: "row", class: "number"}, String(one.partition)),
              h("td", {class: "number"}, whole_number(one.jobs)),
              h("td", {class: "number"}, h("progress", {max: "1", value: one.restored, "aria-label": `Partition ${one.partition} restored`}), " ",
                percent(one.restored))))))],
    ];
  },
};
