// The views by the address's fragment, and what stands around each of them. Last of the scripts.

const VIEWS = {fleet, job, alert, rules, engine};

// "#job=a%26b&sort=step": names and values between & and =, percent-encoded. "#fleet" is "#", to which a browser would scroll up at once.
function current_route() {
  const parameters = {};
  for (const part of location.hash.slice(1).split("&")) {
    if (!part) continue;
    const at = part.indexOf("=");
    parameters[decoded(at < 0 ? part : part.slice(0, at))] = at < 0 ? "" : decoded(part.slice(at + 1));
  }
  const view = Object.keys(VIEWS).find((name) => name !== "fleet" && Object.hasOwn(parameters, name)) ?? "fleet";
  return {view, parameters};
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;   // it has a % of its own
  }
}

const link_to = (parameters) => "#" + Object.entries(parameters).map(([name, value]) =>
  encodeURIComponent(name) + (value === "" ? "" : "=" + encodeURIComponent(value))).join("&");

// Changes parameters of the view that is shown; such a change is no page of its own for the back button.
function refine(changes) {
  const parameters = {...current_route().parameters, ...changes};
  for (const [name, value] of Object.entries(changes)) if (!is_there(value) || value === "") delete parameters[name];
  history.replaceState(history.state, "", link_to(parameters));
  show();
}

function top_line(route) {
  const to = (view, text, href) => h("a", {href, "aria-current": route.view === view ? "page" : undefined}, text);
  return [
    h("nav", {"aria-label": "Views"}, h("strong", {}, "tocsin"), to("fleet", "Fleet", "#fleet"), to("rules", "Rules", "#rules"),
      to("engine", "Engine", "#engine")),
    h("p", {id: "as-of"}, live.as_of ? ["as of ", h("time", {datetime: new Date(live.as_of).toISOString()}, time_text(live.as_of))] : "asking the server…"),
  ];
}

function notices() {
  const all = [];
  if (live.trouble) {
    const since = live.trouble.since;
    all.push(h("p", {class: "notice critical", role: "alert", key: "trouble"}, h("strong", {}, live.trouble.text), " ",
      live.as_of ? `Since ${time_text(since)}; what stands here is older: as of ${time_text(live.as_of)} (${ago(live.as_of, server_now())}).`
                 : "It is asked again every two seconds."));
  }
  if (live.status?.not_ready)
    all.push(h("p", {class: "notice warning", role: "status", key: "ready"}, h("strong", {}, "Not ready: "), plain(live.status.not_ready),
      ". Jobs and alerts may be missing until then."));
  if (live.status?.reload_failure)
    all.push(h("p", {class: "notice warning", role: "status", key: "reload"}, h("strong", {}, "The last reload of the rules failed"),
      "; those before it judge on. ", h("a", {href: "#engine"}, "Why")));
  return all;
}

let shown = "";
const places = new Map();   // how far each view was scrolled
history.scrollRestoration = "manual";

const waiting = () => h("p", {class: "empty"}, live.trouble ? "Nothing is known yet." : "Loading…");

function title_and_body(view, route) {
  try {
    return [view.title(live.data, route), view.draws(live.data, route)];
  } catch (error) {
    console.error(error);
    return ["", h("p", {class: "empty"}, `This cannot be shown: the page does not understand what the server answered (${error.message}). `,
      "Reload it: the server may be of another version by now.")];
  }
}

// Draws what is known now. A view is drawn once its data are there; until then it says that it is loading.
function show() {
  const route = current_route();
  const view = VIEWS[route.view];
  const place = route.view + "=" + (route.parameters[route.view] ?? "");
  draw_part("top", top_line(route));
  draw_part("notices", notices());
  const here = Object.keys(view.asks(route)).every((name) => name in live.data);
  const [title, body] = here ? title_and_body(view, route) : ["", waiting()];
  draw_part("main", [h("div", {class: `view view-${route.view}`, key: place}, body)]);
  document.title = (title ? title + " · " : "") + "tocsin";
  if (place === shown || !here) return;
  if (shown) document.getElementById("main").focus({preventScroll: true});   // the link that was followed is gone
  shown = place;
  scrollTo(0, history.state?.seen ? places.get(place) ?? 0 : 0);   // a view that was seen before: the back button leads to it
  history.replaceState({seen: true}, "");
}

function follow_link() {
  live.data = {};
  look();
  setTimeout(show, 200);   // unless the answer is there before
}

addEventListener("hashchange", follow_link);
const keep_place = () => places.set(shown, scrollY);
addEventListener("scroll", keep_place, {passive: true});
addEventListener("click", keep_place, {capture: true});   // a link may be followed before the scroll is reported
document.addEventListener("visibilitychange", show_when_seen);
show();
look();
