// What the server last answered, and how it is asked: every two seconds while the page is seen.

const INTERVAL = 2000, PATIENCE = 10_000;

const live = {
  data: {},            // the last answers, by the names that the view gave them; of the view in force
  status: undefined,   // /api/v1/status, of any view
  as_of: undefined,    // the server's time of the last answer
  offset: 0,           // the server's clock less this one's
  trouble: undefined,  // {text, since}: why the last question had no answer
};

// The server's time now, in milliseconds: ages are by its clock, not by the reader's.
const server_now = () => Date.now() + live.offset;

class Trouble extends Error {
  constructor(message, retry_after = 0) {
    super(message);
    this.retry_after = retry_after;
  }
}

function trouble_of(answer) {
  if (answer.status === 401)
    return new Trouble("The server wants a user and a password (401). Reload this page to sign in.");
  if (answer.status === 429) {
    const seconds = Math.min(Math.max(Number(answer.headers.get("Retry-After")) || 0, INTERVAL / 1000), 60);
    return new Trouble(`The server gets more requests than it takes (429, http.requests_per_second). It is asked again in ${seconds} s.`, seconds);
  }
  return new Trouble(`The server answers ${answer.status} ${answer.statusText} to ${new URL(answer.url).pathname}.`);
}

// The data of /api/v1/…; {}: parameters that are left out. The address is relative to the page's, without the credentials that this may carry.
async function ask(name, parameters = {}) {
  const url = new URL(`api/v1/${name}`, location.origin + location.pathname);
  for (const [key, value] of Object.entries(parameters)) url.searchParams.set(key, value);
  let answer, text;
  try {
    answer = await fetch(url, {cache: "no-store", signal: AbortSignal.timeout(PATIENCE)});
    text = await answer.text();
  } catch {
    throw new Trouble("The server does not answer.");
  }
  let body;
  try {
    body = JSON.parse(text);
  } catch {
    throw answer.ok ? new Trouble(`${url.pathname} is answered by another program: the answer is not JSON.`) : trouble_of(answer);
  }
  if (answer.ok && body.status === "success") return body.data;
  throw body.error ? new Trouble(`The server answers ${answer.status} to ${url.pathname}: ${body.error}.`) : trouble_of(answer);
}

let timer, looking = 0;

// Asks for what the view needs, shows it, and does so again. A look that another one has overtaken shows nothing.
async function look() {
  clearTimeout(timer);
  const mine = ++looking, route = current_route();
  let wait = INTERVAL;
  try {
    const questions = Object.entries(VIEWS[route.view].asks(route));
    const [status, ...answers] = await Promise.all([ask("status"), ...questions.map(([, [name, parameters]]) => ask(name, parameters))]);
    if (mine !== looking) return;
    const time = Date.parse(status.time);
    live.offset = Number.isNaN(time) ? 0 : time - Date.now();
    live.status = status;
    live.data = Object.fromEntries(questions.map(([key], i) => [key, answers[i]]));
    live.as_of = server_now();
    live.trouble = undefined;
  } catch (error) {
    if (mine !== looking) return;
    if (!(error instanceof Trouble)) console.error(error);
    live.trouble = {text: error.message, since: live.trouble?.since ?? server_now()};
    wait = Math.max(INTERVAL, 1000 * (error.retry_after ?? 0));
  }
  if (!document.hidden) timer = setTimeout(look, wait);
  show();
}

function show_when_seen() {
  if (!document.hidden) look();
  else clearTimeout(timer);
}
