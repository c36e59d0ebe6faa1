// Shapes of secrets as scanners of repositories know them: prefixes of the tokens of providers, names in front of '='
// and
// ':', options of commands, and credentials in headers and URLs.
#include <re2/filtered_re2.h>
#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dsl/text/extraction.h"

namespace tocsin::dsl::text {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }
bool upper(char c) { return c >= 'A' && c <= 'Z'; }
bool lower(char c) { return c >= 'a' && c <= 'z'; }
bool alphanumeric(char c) { return digit(c) || upper(c) || lower(c); }

std::string lowered(std::string_view text) {
  std::string out{text};
  for (char& c : out) c = upper(c) ? static_cast<char>(c + 32) : c;
  return out;
}
bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return text.find(word) != text.npos; });
}
bool is_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

// What a shape matched: `name` is its first group, `value` its second, `before` all in front of the match.
struct Found {
  std::string_view before, name, value;
};
// Without the call, or the sign, in front of its quotes, too: b'…', $'…', SecretStr('…'.
std::string_view unquoted(std::string_view value) {
  const auto quote = std::min(value.find_first_of("\"'"), value.size());
  if (quote < value.size() &&
      std::all_of(value.begin(), value.begin() + static_cast<std::ptrdiff_t>(quote), [](char c) {
        return alphanumeric(c) || has_any("_($\\", {std::string_view{&c, 1}});
      }))
    value.remove_prefix(quote);
  while (!value.empty() && has_any("\\\"'", {value.substr(0, 1)})) value.remove_prefix(1);
  while (!value.empty() && has_any("\\\"'", {value.substr(value.size() - 1)})) value.remove_suffix(1);
  return value;
}
bool path(std::string_view value) {
  constexpr std::string_view begins[] = {"/", "./", "~/", "../"},
                             ends[] = {".pem", ".json", ".yml", ".yaml", ".txt", ".key", ".crt", ".cfg", ".env"};
  return std::any_of(std::begin(begins), std::end(begins), [&](auto one) { return value.starts_with(one); }) ||
         std::any_of(std::begin(ends), std::end(ends), [&](auto one) { return value.ends_with(one); });
}
// Letters and digits as a generator mixes them, in one run: no word, number, path, version or date.
bool random(std::string_view value, std::size_t least = 16) {
  while (!value.empty()) {
    const auto size =
        static_cast<std::size_t>(std::find_if_not(value.begin(), value.end(), alphanumeric) - value.begin());
    const auto of = [&](bool (*kind)(char)) {
      return static_cast<std::size_t>(
          std::count_if(value.begin(), value.begin() + static_cast<std::ptrdiff_t>(size), kind));
    };
    const std::size_t digits = of(digit), uppers = of(upper), lowers = of(lower);
    if (size >= least && ((digits >= 2 && uppers + lowers >= 2) || (3 * uppers >= size && 3 * lowers >= size)))
      return true;
    value.remove_prefix(std::min(size + 1, value.size()));
  }
  return false;
}
// As people choose them: letters with digits or signs.
bool password(std::string_view value) {
  value = unquoted(value);
  const auto has = [&](auto kind) { return std::any_of(value.begin(), value.end(), kind); };
  const bool letters = has([](char c) { return upper(c) || lower(c); });
  const std::string_view unit = value.substr(std::min(value.find_first_not_of("0123456789."), value.size()));
  if (is_any(unit, {"s", "ms", "us", "ns", "MB", "GB", "MiB", "GiB"})) return false;  // forward_pass=12.53ms
  return value.size() >= 6 && letters && !path(value) && (has(digit) || has([](char c) {
                                                            return has_any("!@#$%^&*+=?~", {std::string_view{&c, 1}});
                                                          }));
}
// What stands where a secret would, and is none: nothing, a variable, a placeholder, a word about it.
bool placeholder(std::string_view value) {
  value = unquoted(value);
  return value.empty() || has_any("$<[{(*%", {value.substr(0, 1)}) ||
         is_any(lowered(value),
                {"none",     "null",     "nil",     "true",      "false",    "yes",    "no",      "on",  "off",
                 "required", "optional", "invalid", "incorrect", "missing",  "unset",  "expired", "not", "wrong",
                 "empty",    "set",      "str",     "string",    "redacted", "hidden", "masked"});
}

bool always(const Found&) { return true; }
bool if_random(const Found& found) { return random(found.value); }
bool of_prefix(const Found& found) {  // or one long word, as none is
  const std::string_view value = found.value;
  return random(value) || std::search_n(value.begin(), value.end(), 20, true,
                                        [](char c, bool) { return alphanumeric(c); }) != value.end();
}
bool of_header(const Found& found) { return !placeholder(found.value); }
bool of_scheme(const Found& found) { return random(found.value, 12); }

// A host's port is followed by a path, in which an '@' may stand.
bool of_url(const Found& found) {
  const auto port =
      static_cast<std::size_t>(std::find_if_not(found.value.begin(), found.value.end(), digit) - found.value.begin());
  return port == 0 || port > 5 || found.value[port < found.value.size() ? port : 0] != '/';
}

// password_min_length = 8 is no password; nor is passwordless = …
bool of_name(const Found& found) {
  if (placeholder(found.value)) return false;
  const auto end = found.name.find_last_not_of("\\\"' ]:=>");
  const std::string name = lowered(found.name.substr(0, end + 1));
  std::size_t word = 0;
  for (const std::string_view key : {"password", "passwd", "passphrase", "pwd", "secret", "credential", "key", "token"})
    if (const auto at = name.rfind(key); at != name.npos) word = std::max(word, at + key.size());
  std::string_view rest = std::string_view{name}.substr(word);
  if (rest.starts_with('s')) rest.remove_prefix(1);
  if (!rest.empty() && lower(found.name[name.size() - rest.size()])) return false;
  if (has_any(rest, {"length",  "len",   "size",      "min",      "max",   "count",    "num",     "policy",
                     "file",    "path",  "dir",       "name",     "field", "required", "enabled", "disabled",
                     "expir",   "ttl",   "timeout",   "age",      "type",  "prompt",   "reset",   "retr",
                     "attempt", "error", "exception", "manager",  "store", "provider", "class",   "column",
                     "url",     "uri",   "version",   "strength", "valid", "check",    "match"}) ||
      rest.ends_with("id"))
    return false;
  const bool is_key = name.substr(0, word).ends_with("key") || name.substr(0, word).ends_with("credential");
  return !((is_key || name.ends_with("pwd")) && path(unquoted(found.value)));
}

bool uuid(std::string_view value) {
  static const RE2 form{"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"};
  return RE2::FullMatch(value, form);
}
bool of_weak_name(const Found& found) {
  return random(unquoted(found.value)) && !path(unquoted(found.value)) && !uuid(unquoted(found.value));
}

// --password X, --api-key X, --hub-token X. Names of tokens are names of words in models, too.
bool of_option(const Found& found) {
  if (placeholder(found.value) || found.value.starts_with('-') || path(unquoted(found.value))) return false;
  const std::string name = lowered(found.name);
  if (name.ends_with("pass")) return password(found.value);
  if (!name.ends_with("token") || name == "token") return true;
  return has_any(name, {"hf", "hub", "auth", "access", "api", "git", "bearer", "wandb", "slack", "bot", "join",
                        "jupyter", "refresh", "session", "user", "vault", "service", "secret"})
             ? true
             : random(unquoted(found.value));
}

// -p is a password of some commands, and a port, a path or a partition of others.
bool of_short_option(const Found& found) {
  const std::string_view value = unquoted(found.value);
  const auto begin = found.before.find_last_of("|;&\n");
  const std::string command = lowered(found.before.substr(begin == found.before.npos ? 0 : begin + 1));
  if (value.empty() || value.starts_with('-')) return false;
  if (has_any(command, {"sshpass", "mysql", "mariadb", "mongo", "docker login", "podman login", "registry login",
                        "az login", "ldap", "htpasswd", "clickhouse", "rabbitmq", "7z", "zip "}))
    return true;
  if (!has_any(found.name, {" ", ",", "="})) return false;  // -pX: only where it is known to be a password
  if (has_any(command, {"srun", "sbatch", "salloc", "sinfo", "squeue", "scontrol", "sacct", "ssh", "scp", "mkdir",
                        "docker run", "git ", "patch", "rsync", "make"}))
    return false;
  return password(value);
}

bool of_login(const Found& found) { return found.name.front() == '.' || random(found.value, 32); }

// curl -u name:password; a user and a group of a container are none.
bool of_user(const Found& found) {
  const std::string command = lowered(found.before);
  if (std::all_of(found.value.begin(), found.value.end(), digit)) return false;
  const bool asks = has_any(command, {"curl", "wget", "http"});
  const bool long_option = found.name.starts_with("--") && !has_any(command, {"docker", "podman"});
  return asks || long_option || password(found.value);
}

// `name` stays, and so does all but the second group.
struct Shape {
  const char* expression;
  bool (*secret)(const Found&);
};

// NAME and VALUE in expressions.
constexpr const char* name_of_secret =
    R"((?:password|passwd|passphrase|(?:\b|_)pwd|secret|credential|(?:api|access|private|secret|account|signing|encryption|master|auth|session|license|ssh|client|storage|subscription)[_-]?key|(?:auth|access|private|deploy|refresh|bearer|session|hub|hf|api|id|bot|user|service|github|gitlab|wandb|slack)[_-]?token))";
// In quotes that are escaped, or have escaped quotes in them or stand side by side, or do not close on the line; a
// block of YAML; a word.
constexpr const char* value_of_name =
    R"re((\\+"[^"]*"|\\+'[^']*'|(?:\$|[bru]{1,2}|(?:\w*secret\w*|str|bytes)\()?(?:(?:"(?:[^"\\]|\\(?s:.))*"|'(?:[^'\\]|\\(?s:.))*')+|["'][^\n]*)|[|>][+-]?(?:\n[ \t]+[^\n]*)+|[^\s,;&"'<]+))re";

constexpr std::array shapes{
    // Tokens of providers, by prefixes that nothing else has.
    Shape{
        R"(\b(ghp_|gho_|ghs_|ghu_|ghr_|github_pat_|glpat-|gldt-|glrt-|glptt-|xox[abeoprs]-|xapp-|AIza|GOCSPX-|nvapi-|wandb_v1_|pypi-AgE|dckr_[po]at_|dop_v1_|glsa_|glc_|hvs\.|hvb\.|lin_api_|whsec_|shp(?:at|ss|ca|pa)_|NRAK-|PMAK-|HRKU-|sbp_|pscale_tkn_|tskey-|dp\.pt\.|AGE-SECRET-KEY-1|sk_live_|sk_test_|rk_live_|ya29\.|SG\.)([\w-]{8,}(?:\.[\w-]+)*))",
        always},
    Shape{R"(\b(hf_|api_org_|sk-|rk-|pk-|gsk_|r8_|pplx-|xai-|npm_|secret_|ntn_|dapi)([\w-]{16,}))", of_prefix},
    Shape{R"(\b(AKIA|ASIA|ABIA|ACCA)([A-Z0-9]{16})\b)", always},
    Shape{R"(\b(eyJ)([\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)?))", always},
    Shape{R"(\b(\d{8,10})(:AA[\w-]{30,}))", always},
    Shape{
        R"((hooks\.slack\.com/(?:services|workflows)/|discord(?:app)?\.com/api/webhooks/\d+/|webhook\.office\.com/webhookb2/)([\w/+@-]{20,}))",
        always},
    Shape{R"((?s)(-----BEGIN [A-Z ]*PRIVATE KEY[A-Z ]*-----)(.+?)(?:-----END|\z))", always},
    // Headers and URLs.
    Shape{
        R"((?i)(authorization\\*["']?\s*[:=]\s*\\*["']?(?:(?:bearer|basic|token|digest|api-?key|key|negotiate|ntlm|oauth|splunk|ssws)\s+)?)([^\s"',;\\]+))",
        of_header},
    Shape{R"((?i)\b(bearer|basic|token)\s+([\w.~+/-]{12,}=*))", of_scheme},
    Shape{R"(\b[a-zA-Z][a-zA-Z0-9+.-]*://([^\s/:@'"\[]*):([^\s'"<>]+)@[\w.\[-])", of_url},
    Shape{R"(://()([\w-]{16,})@)", if_random},
    Shape{R"([\s"']-u(["']?[\s,=]+["']?[^\s:"'/]+:)([^\s"']+))", of_user},
    Shape{R"((--(?:(?:proxy-)?user|(?:basic-|http-)?auth)["']?[\s,=]+["']?[^\s:"'/]+:)([^\s"']+))", of_user},
    // Names and their values.
    Shape{
        R"((?i)(NAME[\w.-]*\\*["']?\]?\s*(?::\s*(?:str|bytes|SecretStr|Optional\[str\])\s*=|=>|:=|[=:]|%3d)\s*)VALUE)",
        of_name},
    // name: DB_PASSWORD, value: X; ('DB_PASSWORD', 'X'); ENV DB_PASSWORD X.
    Shape{R"((?i)(NAME[\w.-]*)\\*["']?[\s,]\s*\\*["']?value\\*["']?\s*[=:]\s*VALUE)", of_name},
    Shape{R"((?i)(NAME[\w.-]*)["']\s*,\s*("[^"]*"|'[^']*'))",
          [](const Found& found) { return of_name(found) && (password(found.value) || random(found.value)); }},
    Shape{R"((?i)\b(?:setenv|env|set -\w+)\s+(\w*NAME\w*)\s+VALUE)", of_name},
    Shape{R"((?i)([^a-z](?:token|key|sig|signature|auth)\\*["']?\s*[=:]\s*["']?)([\w+/.~%-]{16,}=*))", of_weak_name},
    Shape{R"((?i)((?:[^a-z]pass\s*=|_pass:|["']pass["']\s*:)\s*)VALUE)",
          [](const Found& found) { return password(found.value); }},
    Shape{R"((?i)<[\w:.-]*(NAME[\w:.-]*)>([^<]+)</)", of_name},
    Shape{R"((?i)((?:key|secret|token|password)\W{1,3}(?:is|was|of)?\W{0,2})([0-9a-f]{32,}|[A-Za-z0-9+/]{40,}={0,2}))",
          if_random},
    Shape{R"((?i)\b((?:password|passwd|passphrase)(?:\s+(?:is|was|to))?):?\s+(\S+))",
          [](const Found& found) { return password(found.value); }},
    Shape{R"((?i)\b(login\s+\S+\s+password|identified\s+by|pass(?:in|out)\s+pass:)\s*VALUE)", of_header},
    Shape{R"((?i)((?:wandb\s+login\s.*?|\.login\(["'][^"']*["']\s*,\s*["']))([^\s"']+))", of_login},
    Shape{R"((?i)[?&]([\w-]*(?:token|sig|signature|jwt)=)([^\s&"'#]+))", of_header},
    Shape{R"((?i)\b(cookie\\*["']?\s*[:=]\s*["']?[\w.-]+=)([^\s;"',]+(?:;\s*[\w.-]+=[^\s;"',]+)*))", of_header},
    // Options of commands, also as a list of Python.
    Shape{
        R"((?i)[\s"'(\[,]--?((?:[a-z0-9]+[_-])*(?:password|passwd|passphrase|pass|pwd|secret|(?:api|access|private|secret|auth|account|client)[_-]?key|token|credentials?))(?:["']?\s*[,=]\s*|\s+)VALUE)",
        of_option},
    Shape{R"(-(pw)[\s=]+VALUE)", [](const Found& found) { return password(found.value); }},
    Shape{R"([\s"'(\[,]-p(["']?[\s,=]*)VALUE)", of_short_option},
    Shape{R"((?i)(redis-cli\s.*?-a|ldap\w+\s.*?-w)\s+(\S+))", always},
};

RE2::Options options() {
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);
  options.set_log_errors(false);
  return options;
}

std::string expanded(std::string text) {
  for (const auto& [name, expression] : {std::pair{"NAME", name_of_secret}, {"VALUE", value_of_name}})
    if (const auto at = text.find(name); at != text.npos) text.replace(at, std::string_view{name}.size(), expression);
  return text;
}

// The shapes, compiled. What a text must have for any of them to match, a word or two, is drawn from the expressions
// and sought first, in one pass: most texts have none of it.
struct Expressions {
  re2::FilteredRE2 filter{3};
  RE2::Set atoms{options(), RE2::UNANCHORED};
  Expressions() {
    std::vector<std::string> words;
    for (const Shape& shape : shapes) {
      int number = 0;
      filter.Add(expanded(shape.expression), options(), &number);
    }
    filter.Compile(&words);
    for (const std::string& word : words) atoms.Add(RE2::QuoteMeta(word), nullptr);
    atoms.Compile();
  }
};

std::string masked(std::string_view text, const RE2& expression, bool (*secret)(const Found&)) {
  const re2::StringPiece whole{text.data(), text.size()};
  re2::StringPiece groups[3];
  std::string out;
  std::size_t copied = 0, from = 0;
  while (from <= text.size() && expression.Match(whole, from, text.size(), RE2::UNANCHORED, groups, 3)) {
    const auto at = static_cast<std::size_t>(groups[2].data() - text.data()), end = at + groups[2].size();
    const auto begin = static_cast<std::size_t>(groups[0].data() - text.data());
    if (secret({text.substr(0, begin), {groups[1].data(), groups[1].size()}, text.substr(at, end - at)})) {
      out.append(text.substr(copied, at - copied)).append("***");
      copied = from = end;
    } else {
      from = std::max(at, from + 1);  // the value may begin another
    }
  }
  return out.append(text.substr(copied));
}

}  // namespace

std::string mask_secrets(std::string_view text) {
  static const Expressions expressions;
  std::string out = " ";  // what begins an option at the beginning, too
  out += text;
  std::vector<int> words, which;
  if (expressions.atoms.Match(lowered(out), &words)) expressions.filter.AllPotentials(words, &which);
  for (const int i : which) out = masked(out, expressions.filter.GetRE2(i), shapes[static_cast<std::size_t>(i)].secret);
  return out.erase(0, 1);
}

}  // namespace tocsin::dsl::text
