// An alert with all of its parts, within its job and by itself.

const TITLES = {what: "What", who: "Who", since: "Since", seen: "Seen", likely: "Likely", do: "Do", "not known": "Not known", more: "More"};
const REASONS = {cleared: "its condition no longer holds", "no data": "no data any more", explained: "another alert explains it",
                 "attempt ended": "the attempt ended", "rule removed": "its rule was removed"};

// How it stands: since when it fires, or when and why it ended.
function standing_of(alert, now) {
  const since = milliseconds(alert.since), at = milliseconds(alert.at);
  if (alert.state === "firing") return ["fires since ", time(since, now)];
  const why = alert.reason === "explained" && alert.explained_by ? ["explained by ", rule_link(alert.explained_by)]
                                                                  : REASONS[alert.reason] ?? plain(alert.reason || "resolved");
  return ["resolved ", time(at, now), ": ", why, `, ${duration((at - since) / 1000)} after it began`];
}

function form_part(name, text, alert, now) {
  const more = name === "since" ? [" ", h("span", {class: "age"}, "(", age(milliseconds(alert.since), now), ")")]
             : name === "more" ? h("small", {}, "JOURNAL: what tocsin wrap or tocsin record kept of the job") : null;
  const value = name === "more" ? h("code", {}, text) : text;
  return [h("dt", {}, TITLES[name] ?? plain(name)), h("dd", {class: name === "do" ? "do" : undefined}, value, more)];
}

// A NaN was measured; what is null is unknown.
const evidence_value = (value) => (value === null ? h("span", {class: "quiet"}, "unknown")
  : typeof value === "number" ? figure(value, 6) : h("span", {class: "excerpt"}, String(value)));

function evidence_table(alert) {
  const values = Object.entries(alert.evidence ?? {});
  if (values.length === 0) return null;
  return h("details", {class: "evidence", open: alert.state === "firing"}, h("summary", {}, `Evidence: ${plural(values.length, "value", "values")}`),
    h("table", {}, h("caption", {class: "unseen"}, "Evidence"), h("thead", {}, h("tr", {}, h("th", {scope: "col"}, "Value"), h("th", {scope: "col"}, "Is"))),
      h("tbody", {}, values.map(([name, value]) => h("tr", {}, h("th", {scope: "row"}, named(name)),
        h("td", {}, evidence_value(value)))))));
}

// `heading`: the tag of its title, by where it stands.
function alert_body(alert, now, heading) {
  const form = alert.form ?? {};
  const names = [...Object.keys(TITLES).filter((name) => name in form), ...Object.keys(form).filter((name) => !(name in TITLES))];
  const undecided = alert.cannot_decide ?? [];
  return [
    h("header", {}, severity_mark(alert.severity), " ", h(heading, {}, alert_link(alert, plain(alert.summary || alert.rule))),
      h("p", {class: "quiet"}, "rule ", rule_link(alert.rule), alert.family ? ` · ${family_text(alert.family, alert.family_words)}` : "",
        alert.mode !== "live" ? [" · ", h("b", {}, `${plain(alert.mode)}: nobody is notified`)] : "", " · ", standing_of(alert, now))),
    h("dl", {class: "form"}, names.filter((name) => name !== "what").map((name) => form_part(name, String(form[name]), alert, now)),
      undecided.length ? [h("dt", {}, "Cannot decide"), h("dd", {}, undecided.map(plain).join("; "))] : null),
    evidence_table(alert),
  ];
}

const alert_card = (alert, now) => h("article", {key: alert.id, class: `alert ${alert.state} ${plain(alert.severity)}`}, alert_body(alert, now, "h3"));

// One that is over: a line, which opens.
const past_alert = (alert, now) => h("details", {key: alert.id, class: "past"},
  h("summary", {}, severity_mark(alert.severity), " ", h("span", {class: "what"}, plain(alert.summary || alert.rule)), " ",
    h("span", {class: "quiet"}, [plain(alert.family), who_text(alert)].filter(Boolean).join(" · ")), " ",
    h("span", {class: "quiet when"}, "· resolved ", age(milliseconds(alert.at), now))),
  h("article", {class: `alert resolved ${plain(alert.severity)}`}, alert_body(alert, now, "h3")));

function alert_missing(id) {
  const status = live.status ?? {};
  const partitions = (status.partitions ?? []).map((one) => one.partition);
  const here = partitions.length ? `partition${partitions.length === 1 ? "" : "s"} ${partitions.join(", ")}` : "no partition now";
  return h("div", {class: "empty"},
    h("h1", {}, "No alert ", h("code", {}, plain(id)), " here"),
    h("ul", {},
      h("li", {}, "This is instance ", named(status.instance || "(without a name)"), " of group ", named(status.group || "(without a name)"),
        `. It has the alerts of ${here}; each other instance of the group has those of its own partitions: open the same link there.`),
      h("li", {}, "It may be forgotten: an instance keeps what fires and the last 10,000 alerts, and after a start only what fires and what came since."),
      h("li", {}, "The topic of alerts has every one: ", h("code", {}, "tocsin topics read alerts --kafka ADDRESS"), ".")),
    h("p", {}, h("a", {href: "#fleet"}, "All jobs of this instance")));
}

const alert = {
  asks: ({parameters}) => (/^[0-9a-f]{1,16}$/i.test(parameters.alert) ? {alert: ["alerts", {id: parameters.alert}]} : {}),
  title: (data) => (data.alert?.[0] ? plain(data.alert[0].summary || data.alert[0].rule) : "No such alert"),

  draws(data, {parameters}) {
    const found = data.alert?.[0];
    if (!found) return [alert_missing(parameters.alert)];
    return [
      h("p", {class: "path"}, "Job ", job_link(found.subject), found.attempt ? `, attempt ${plain(found.attempt)}` : ""),
      h("article", {class: `alert single ${found.state} ${plain(found.severity)}`}, alert_body(found, server_now(), "h1")),
      h("p", {class: "quiet"}, "Alert ", h("code", {}, found.id)),
    ];
  },
};
