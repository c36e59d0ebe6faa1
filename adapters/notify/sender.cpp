#include "adapters/notify/sender.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <thread>

#include "adapters/formats/json.h"
#include "adapters/formats/printable.h"
#include "adapters/net/credentials.h"
#include "adapters/net/url.h"
#include "adapters/notify/command.h"

namespace tocsin::adapters::notify {
namespace {

using Clock = std::chrono::steady_clock;
using stream::Result;

struct EndEasy {
  void operator()(CURL* easy) const noexcept { curl_easy_cleanup(easy); }
};
struct EndMulti {
  void operator()(CURLM* multi) const noexcept { curl_multi_cleanup(multi); }
};
struct EndList {
  void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
};

Outcome failed(std::string reason) { return {Outcome::Result::failed, std::move(reason), {}}; }

// libcurl reads a body piece by piece.
struct Source {
  std::string text;
  std::size_t at = 0;
  static std::size_t read(char* to, std::size_t size, std::size_t count, void* self) {
    auto& source = *static_cast<Source*>(self);
    const std::size_t take = std::min(size * count, source.text.size() - source.at);
    std::memcpy(to, source.text.data() + source.at, take);
    source.at += take;
    return take;
  }
};

std::size_t keep_answer(char* from, std::size_t size, std::size_t count, void* answer) {
  auto& text = *static_cast<std::string*>(answer);
  constexpr std::size_t most = 4096;  // a secret in it must be whole to be found
  if (text.size() < most) text.append(from, std::min(size * count, most - text.size()));
  return size * count;
}

// Called at least once a second while libcurl works.
int goes_on(void* given_up, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::atomic<bool>*>(given_up)->load() ? 1 : 0;
}

bool loopback(const std::string& url) {
  const auto parsed = net::parse_url("http" + url.substr(url.find("://")));
  return parsed && (parsed->host == "localhost" || parsed->host == "::1" || parsed->host.starts_with("127."));
}

}  // namespace

// One message on its way.
struct Transfer {
  Outgoing message;
  Source source;
  std::string answer;
  std::vector<std::string> secrets;  // that the message is sent with
  char error[CURL_ERROR_SIZE] = {};
  std::unique_ptr<CURL, EndEasy> easy;
  std::unique_ptr<curl_slist, EndList> recipients, headers;
  std::optional<Command> command;
  std::optional<Outcome> over;
  // Of a mail, which has a thread: libcurl waits for the answer to its last line inside of curl_multi_perform().
  std::thread thread;
  std::atomic<bool> ended{false}, given_up{false};
  CURLcode code = CURLE_OK;
  Clock::time_point until{};

  template <class Value>
  void set(CURLoption option, Value value) {
    curl_easy_setopt(easy.get(), option, value);
  }
  void add(std::unique_ptr<curl_slist, EndList>& list, const std::string& text) {
    list.reset(curl_slist_append(list.release(), text.c_str()));
  }
  Result<void> prepare(std::chrono::milliseconds timeout);
  Result<void> prepare_mail();
  Result<void> prepare_http();
  [[nodiscard]] Outcome outcome_of(CURLcode code);
};

Result<void> Transfer::prepare(std::chrono::milliseconds timeout) {
  easy.reset(curl_easy_init());
  if (!easy) return stream::Error{stream::Errc::io, "libcurl cannot begin"};
  // A large mail may take longer.
  const auto whole = timeout + std::chrono::milliseconds{message.body.size() / 100};
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_ERRORBUFFER, error);
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(std::min<std::int64_t>(timeout.count(), 10'000)));
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(whole.count()));
  set(CURLOPT_WRITEFUNCTION, keep_answer);
  set(CURLOPT_WRITEDATA, &answer);
  set(CURLOPT_PRIVATE, this);
  if (!message.receiver.ca_file.empty()) set(CURLOPT_CAINFO, message.receiver.ca_file.c_str());
  return message.receiver.medium == Medium::mail ? prepare_mail() : prepare_http();
}

Result<void> Transfer::prepare_mail() {
  const Receiver& r = message.receiver;
  set(CURLOPT_PROTOCOLS_STR, "smtp,smtps");
  set(CURLOPT_URL, r.url.c_str());
  // Without a login a server beyond this machine is asked for TLS, and may have none; a password never goes without.
  set(CURLOPT_USE_SSL, static_cast<long>(!r.user.empty()   ? CURLUSESSL_ALL
                                         : loopback(r.url) ? CURLUSESSL_NONE
                                                           : CURLUSESSL_TRY));
  if (!r.user.empty()) {
    const auto password = net::read_secret(r.password_file);
    if (!password) return password.error();
    secrets.push_back(*password);
    set(CURLOPT_USERNAME, r.user.c_str());
    set(CURLOPT_PASSWORD, password->c_str());
  }
  const auto from = message.body.find('<'), end = message.body.find('>');  // the first header
  set(CURLOPT_MAIL_FROM, message.body.substr(from, end + 1 - from).c_str());
  for (const std::string& one : r.recipients) add(recipients, "<" + one + ">");
  set(CURLOPT_MAIL_RCPT, recipients.get());
  source.text = message.body;
  set(CURLOPT_READFUNCTION, Source::read);
  set(CURLOPT_READDATA, &source);
  set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(source.text.size()));
  set(CURLOPT_UPLOAD, 1L);
  set(CURLOPT_FORBID_REUSE, 1L);  // else curl_easy_cleanup() says goodbye, and waits for the answer
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, goes_on);
  set(CURLOPT_XFERINFODATA, &given_up);
  return {};
}

Result<void> Transfer::prepare_http() {
  const Receiver& r = message.receiver;
  std::string url = r.url;
  if (url.empty()) {
    auto read = net::read_secret(r.url_file);
    if (!read) return read.error();
    url = std::move(*read);
    if (!url.starts_with("https://") && !url.starts_with("http://"))
      return stream::Error{stream::Errc::malformed,
                           r.url_file.string() + " holds no webhook's URL: it begins with https://"};
    if (const auto path = url.find('/', url.find("://") + 3); path != url.npos && path + 1 < url.size())
      secrets.push_back(url.substr(path));
  }
  source.text = message.body;
  if (r.medium == Medium::pagerduty) {
    const auto key = net::read_secret(r.key_file);
    if (!key) return key.error();
    secrets.push_back(*key);
    formats::Json event = formats::Json::parse(source.text, nullptr, false);
    event["routing_key"] = *key;
    source.text = formats::dump(event);
  }
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_USERAGENT, "tocsin");
  add(headers, "Content-Type: " + message.content_type);
  add(headers, fmt::format("Idempotency-Key: {:016x}", message.id));
  add(headers, "Expect:");
  if (!r.token_file.empty()) {
    const auto token = net::read_secret(r.token_file);
    if (!token) return token.error();
    secrets.push_back(*token);
    add(headers, "Authorization: Bearer " + *token);
  }
  set(CURLOPT_HTTPHEADER, headers.get());
  set(CURLOPT_POST, 1L);
  set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(source.text.size()));
  set(CURLOPT_POSTFIELDS, source.text.c_str());
  return {};
}

Outcome Transfer::outcome_of(CURLcode code) {
  const Receiver& r = message.receiver;
  long status = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
  const std::string detail = formats::printable(error[0] != 0 ? error : curl_easy_strerror(code));
  if (code == CURLE_OK && (r.medium == Medium::mail || (status >= 200 && status < 300))) return {};
  if (code == CURLE_OK) {
    for (const std::string& secret : secrets) answer = net::masked(std::move(answer), secret);
    answer.resize(std::min<std::size_t>(answer.size(), 300));
    Outcome outcome =
        failed(fmt::format("it answers {}{}", status, answer.empty() ? "" : ": " + formats::printable(answer)));
    if (status == 401 || status == 403) outcome.reason += "; check its address and its secret";
    curl_off_t after = 0;
    curl_easy_getinfo(easy.get(), CURLINFO_RETRY_AFTER, &after);
    if (after > 0) outcome.retry_after = std::chrono::seconds{std::min<curl_off_t>(after, 3600)};
    // Credentials are read again each time, and may be put right.
    const bool again =
        status == 401 || status == 403 || status == 408 || status == 425 || status == 429 || status >= 500;
    if (!again) outcome.result = Outcome::Result::refused;
    return outcome;
  }
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST: return failed(detail + "; check the name");
    case CURLE_COULDNT_CONNECT: return failed(detail);
    case CURLE_OPERATION_TIMEDOUT: return failed("it does not answer in time: " + detail);
    case CURLE_PEER_FAILED_VERIFICATION:
      return failed("its certificate is not trusted: " + detail + "; name its authority by ca_file");
    case CURLE_SSL_CACERT_BADFILE: return failed(detail + "; ca_file must be a file of certificates in PEM");
    case CURLE_USE_SSL_FAILED:
      return failed(
          "it offers no TLS, and a password is not sent without: write smtps://, or leave out user and password_file");
    case CURLE_SSL_CONNECT_ERROR:
      return failed("TLS fails: " + detail +
                    "; smtps:// is for TLS from the start (port 465), smtp:// for STARTTLS (port 587)");
    case CURLE_LOGIN_DENIED: return failed("the login is refused: " + detail + "; check the user and password_file");
    default: break;
  }
  Outcome outcome = failed(detail);
  if (r.medium == Medium::mail && status >= 500 && status < 600) outcome.result = Outcome::Result::refused;
  return outcome;
}

struct Sender::State {
  std::chrono::milliseconds timeout{};
  std::unique_ptr<CURLM, EndMulti> multi;
  std::map<std::string, std::unique_ptr<Transfer>> transfers;  // by receiver

  ~State() {
    for (auto& [name, transfer] : transfers) transfer->given_up = true;
    for (auto& [name, transfer] : transfers)
      if (transfer->thread.joinable()) transfer->thread.join();
      else if (transfer->easy) curl_multi_remove_handle(multi.get(), transfer->easy.get());
  }
};

Sender::Sender(std::chrono::milliseconds timeout) : state_(std::make_unique<State>()) {
  static const CURLcode begun = curl_global_init(CURL_GLOBAL_DEFAULT);
  static_cast<void>(begun);
  state_->timeout = timeout;
  state_->multi.reset(curl_multi_init());
}

Sender::~Sender() = default;

bool Sender::busy(const std::string& receiver) const { return state_->transfers.contains(receiver); }
bool Sender::idle() const { return state_->transfers.empty(); }
void Sender::wake() noexcept { curl_multi_wakeup(state_->multi.get()); }

void Sender::start(Outgoing message) {
  auto transfer = std::make_unique<Transfer>();
  transfer->message = std::move(message);
  transfer->until = Clock::now() + state_->timeout;
  const Receiver& receiver = transfer->message.receiver;
  if (receiver.medium == Medium::command) {
    auto command = Command::start(receiver.command, transfer->message.body);
    if (command) transfer->command.emplace(std::move(*command));
    else transfer->over = failed(command.error().message);
  } else if (auto ready = transfer->prepare(state_->timeout); !ready) {
    transfer->over = failed(ready.error().message);
  } else if (receiver.medium == Medium::mail) {
    transfer->thread = std::thread{[t = transfer.get(), multi = state_->multi.get()] {
      t->code = curl_easy_perform(t->easy.get());
      t->ended = true;
      curl_multi_wakeup(multi);
    }};
  } else {
    curl_multi_add_handle(state_->multi.get(), transfer->easy.get());
  }
  state_->transfers[receiver.name] = std::move(transfer);
}

std::vector<std::pair<std::string, Outcome>> Sender::work(std::chrono::milliseconds at_most) {
  std::vector<std::pair<std::string, Outcome>> ended;
  std::vector<curl_waitfd> commands;
  for (auto& [name, transfer] : state_->transfers) {
    if (transfer->over) at_most = {};
    if (!transfer->command) continue;
    if (transfer->command->descriptor() >= 0)
      commands.push_back({transfer->command->descriptor(), CURL_WAIT_POLLIN, 0});
    at_most = std::min(at_most,
                       std::max(std::chrono::milliseconds{1},
                                std::chrono::duration_cast<std::chrono::milliseconds>(transfer->until - Clock::now())));
  }
  int running = 0;
  curl_multi_perform(state_->multi.get(), &running);
  int left = 0;
  CURLMsg* message = curl_multi_info_read(state_->multi.get(), &left);
  if (message == nullptr) {
    curl_multi_poll(state_->multi.get(), commands.data(), static_cast<unsigned>(commands.size()),
                    static_cast<int>(at_most.count()), nullptr);
    curl_multi_perform(state_->multi.get(), &running);
    message = curl_multi_info_read(state_->multi.get(), &left);
  }
  for (; message != nullptr; message = curl_multi_info_read(state_->multi.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    Transfer* transfer = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
    transfer->over = transfer->outcome_of(message->data.result);
    curl_multi_remove_handle(state_->multi.get(), transfer->easy.get());
  }
  for (auto at = state_->transfers.begin(); at != state_->transfers.end();) {
    Transfer& transfer = *at->second;
    if (transfer.command && !transfer.over) {
      if (const auto why = transfer.command->ended()) transfer.over = why->empty() ? Outcome{} : failed(*why);
      else if (Clock::now() >= transfer.until) transfer.over = failed("it does not end in time");
    }
    if (transfer.ended) {
      transfer.thread.join();
      transfer.over = transfer.outcome_of(transfer.code);
    }
    if (!transfer.over) {
      ++at;
      continue;
    }
    ended.emplace_back(at->first, std::move(*transfer.over));
    at = state_->transfers.erase(at);
  }
  return ended;
}

}  // namespace tocsin::adapters::notify
