#include "adapters/wrap/pass_through.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <string>
#include <utility>

namespace tocsin::adapters::wrap {

using namespace std::chrono_literals;
using stream::Time;

namespace {

constexpr std::size_t read_bytes = 64u << 10;
constexpr stream::Duration last_words = 200ms;      // for a pseudo-terminal that others still hold open
constexpr stream::Duration recorder_patience = 2s;  // with output that waits for it
constexpr unsigned more_starts = 2;                 // of an engine that dies when all has been recorded
constexpr unsigned most_notes = 3;                  // about starting one process again

bool asks_to_end(int signal) { return signal == SIGINT || signal == SIGTERM || signal == SIGQUIT || signal == SIGHUP; }

std::string how(int status) {
  if (WIFSIGNALED(status)) return "was ended by signal " + std::to_string(WTERMSIG(status));
  return "ended with code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

PassThrough::PassThrough(const Parts& parts)
    : parts_(parts),
      our_out_(STDOUT_FILENO),
      our_err_(STDERR_FILENO),
      keys_(parts.terminal.master()),
      buffer_(read_bytes) {}

Outlet& PassThrough::screen() { return parts_.terminal.output() ? our_out_ : our_err_; }

void PassThrough::say(std::string_view line) {
  const bool raw = parts_.terminal.raw();
  parts_.notes.pass(our_err_, screen(), raw);
  parts_.notes.say("tocsin: " + std::string{line}, our_err_, screen(), raw);
}

void PassThrough::send_state() {
  parts_.state.dropped = parts_.out.dropped() + parts_.err.dropped();
  reported_at_ = parts_.clock.now();
  ::send(parts_.control, &parts_.state, sizeof parts_.state, MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool PassThrough::readable(Stream& stream, Time& due) const {
  if (stream.source < 0 || stream.outlet->pending()) return false;
  if (!stream.feed->half_full()) return true;
  if (std::exchange(stream.taken, stream.feed->taken()) != stream.feed->taken()) stream.taken_at = parts_.clock.now();
  const Time until = stream.taken_at + recorder_patience;
  if (parts_.clock.now() >= until) return true;
  due = std::min(due, until);
  return false;
}

void PassThrough::take(Stream& stream) {
  const auto end = [&stream] {
    stream.source = -1;
    if (stream.owner != nullptr) stream.owner->close();
  };
  const ssize_t size = ::read(stream.source, buffer_.data(), buffer_.size());
  if (size > 0) {
    const std::string_view bytes{buffer_.data(), static_cast<std::size_t>(size)};
    stream.outlet->write(bytes);
    const bool waited = stream.feed->pending();
    stream.feed->offer(bytes);
    if (stream.feed->pending() && !waited) send_state();  // its pipe is full: the recorder reads on at once
  } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
    end();  // EIO of a pseudo-terminal: no process holds its other side any more
  }
  // The command's next write fails as it would on our stdout.
  if (stream.outlet->broken() && stream.owner != nullptr && *stream.owner) end();
}

void PassThrough::keys(const Child& child) {
  const ssize_t size = ::read(STDIN_FILENO, buffer_.data(), 4096);
  if (size > 0) {
    const std::string_view typed{buffer_.data(), static_cast<std::size_t>(size)};
    if (typed.find(parts_.terminal.interrupt()) != typed.npos)
      parts_.state.asked_at = stream::nanoseconds(parts_.clock.now());
    keys_.write(typed);
  } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
    keys_open_ = false;
    hang_up(&child);
  }
}

void PassThrough::ask_to_end() {
  parts_.state.asked_to_end = true;
  parts_.state.asked_at = stream::nanoseconds(parts_.clock.now());
}

void PassThrough::hang_up(const Child* child) {
  ask_to_end();
  if (child == nullptr || !child->started()) return;
  ::kill(child->pid, SIGHUP);
  ::kill(child->pid, SIGCONT);
}

void PassThrough::signal(const Signals::Signal& signal, const Child* child) {
  const int number = signal.number;
  if (asks_to_end(number) && ended_) interrupted_ = true;
  if (child == nullptr || !child->started() || ended_) return;
  const auto forward = [&] {
    if (!signal.from_terminal || parts_.terminal.interactive()) ::kill(child->pid, number);
  };
  switch (number) {
    case SIGWINCH:
      parts_.terminal.copy_size();
      if (!parts_.terminal.interactive()) forward();
      break;
    case SIGCONT:
      parts_.terminal.make_raw();
      keys_open_ = parts_.terminal.raw();
      parts_.terminal.copy_size();
      forward();
      break;
    case SIGHUP:
      if (parts_.terminal.gone()) {
        hang_up(child);
      } else if (parts_.reloads && !signal.from_terminal) {
        ++parts_.state.reloads;
        send_state();
      } else {
        ask_to_end();
        forward();
      }
      break;
    default:
      if (asks_to_end(number)) ask_to_end();
      forward();
  }
}

void PassThrough::changed(int status, Child& child) {
  if (WIFSTOPPED(status)) {
    const int by = WSTOPSIG(status);
    if (by != SIGTSTP && by != SIGTTIN && by != SIGTTOU) return;  // SIGSTOP was meant for it, not for us
    parts_.terminal.restore();
    stop_self();
    parts_.terminal.make_raw();
    keys_open_ = parts_.terminal.raw();
    parts_.terminal.copy_size();
    if (parts_.terminal.interactive()) ::kill(-child.pid, SIGCONT);
    return;
  }
  const Time now = parts_.clock.now();
  ended_ = true;
  drain_until_ = now + last_words;
  parts_.state.ended = true;
  parts_.state.status = status;
  parts_.state.ended_at = stream::nanoseconds(now);
}

void PassThrough::reap(Child* child) {
  int status = 0;
  pid_t pid;
  while ((pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
    if (child != nullptr && pid == child->pid && !ended_) {
      changed(status, *child);
      continue;
    }
    if (WIFSTOPPED(status)) continue;
    const Time now = parts_.clock.now();
    for (const auto& [process, name] : {std::pair{&parts_.recorder, "recorder"}, std::pair{&parts_.engine, "engine"}})
      if (process->ended(pid, status, now) && !process->done() && process->starts() <= most_notes)
        say(std::string{"the "} + name + ' ' + how(status) + "; it is started again");
  }
}

void PassThrough::turn(Child* child, Time due) {
  const bool raw = parts_.terminal.raw();
  enum { signals, notes, first, second, out, err, out_feed, err_feed, in, to_keys, news, places };
  pollfd at[places];
  std::fill(std::begin(at), std::end(at), pollfd{-1, 0, 0});
  const auto want = [&](int place, int descriptor, short events) { at[place] = {descriptor, events, 0}; };
  want(signals, parts_.signals.descriptor(), POLLIN);
  if (!our_err_.pending()) want(notes, parts_.notes.reader(), POLLIN);
  if (readable(first_, due)) want(first, first_.source, POLLIN);
  if (readable(second_, due)) want(second, second_.source, POLLIN);
  if (our_out_.pending()) want(out, our_out_.descriptor(), POLLOUT);
  if (our_err_.pending()) want(err, our_err_.descriptor(), POLLOUT);
  if (parts_.out.pending()) want(out_feed, parts_.out.writer(), POLLOUT);
  if (parts_.err.pending()) want(err_feed, parts_.err.writer(), POLLOUT);
  if (child != nullptr && keys_open_ && !keys_.pending()) want(in, STDIN_FILENO, POLLIN);
  if (keys_.pending()) want(to_keys, keys_.descriptor(), POLLOUT);
  if (child != nullptr && child->news) want(news, child->news.get(), POLLIN);

  due = std::min({due, parts_.recorder.due(), parts_.engine.due()});
  if (::poll(at, places, milliseconds_until(due, parts_.clock.now())) > 0) {
    if (at[out].revents != 0) our_out_.flush();
    if (at[err].revents != 0) our_err_.flush();
    if (at[first].revents != 0) take(first_);
    if (at[second].revents != 0) take(second_);
    if (at[out_feed].revents != 0) parts_.out.flush();
    if (at[err_feed].revents != 0) parts_.err.flush();
    if (at[in].revents != 0) keys(*child);
    if (at[to_keys].revents != 0) keys_.flush();
    if (at[notes].revents != 0) parts_.notes.pass(our_err_, screen(), raw);
    if (at[news].revents != 0) {
      int status = 0;
      const ssize_t size = ::read(child->news.get(), &status, sizeof status);
      if (size == static_cast<ssize_t>(sizeof status)) changed(status, *child);
      else if (size == 0) child->news.close();
    }
    Signals::Signal signal_read;
    while (at[signals].revents != 0 && parts_.signals.next(signal_read)) {
      if (signal_read.number == SIGCHLD) reap(child);
      else signal(signal_read, child);
    }
  }
  const Time now = parts_.clock.now();
  parts_.recorder.poll(parts_.signals, now);
  parts_.engine.poll(parts_.signals, now);
  if (parts_.out.dropped() + parts_.err.dropped() != parts_.state.dropped && now - reported_at_ > 1s) send_state();
}

// The command's output is written, as far as it can be read now.
bool PassThrough::drained() const {
  for (const Stream* stream : {&first_, &second_}) {
    if (stream->outlet != nullptr && stream->outlet->pending()) return false;
    if (stream->source < 0) continue;
    if (stream->source == parts_.terminal.master() && parts_.clock.now() < drain_until_) return false;
    pollfd at{stream->source, POLLIN, 0};
    if (::poll(&at, 1, 0) > 0) return false;
  }
  return true;
}

// A descendant lives on and still holds the command's output: it goes on to ours as it would without us, while we end
// on time.
void PassThrough::leave_the_rest(Child& child) {
  for (const Descriptor* end : {&child.out, &child.err}) {
    if (!*end) continue;
    if (::fork() == 0) {
      parts_.signals.restore_for_helper();
      const int to = end == &child.out ? STDOUT_FILENO : STDERR_FILENO;
      const int from = end->get();
      ::close(to == STDOUT_FILENO ? STDERR_FILENO : STDOUT_FILENO);
      ::close(STDIN_FILENO);
      close_all_but({from});
      ::fcntl(from, F_SETFL, 0);
      ssize_t size;
      while ((size = ::read(from, buffer_.data(), buffer_.size())) > 0) {
        for (ssize_t sent = 0; sent < size;) {
          const ssize_t written = ::write(to, buffer_.data() + sent, static_cast<std::size_t>(size - sent));
          if (written < 0 && errno != EINTR) ::_exit(0);
          if (written > 0) sent += written;
        }
      }
      ::_exit(0);
    }
  }
  child.out.close();
  child.err.close();
}

void PassThrough::run(Child& child) {
  const Terminal& terminal = parts_.terminal;
  const int master = terminal.master();
  if (terminal.output()) first_ = {master, &our_out_, &parts_.out};
  else if (child.out) first_ = {child.out.get(), &our_out_, &parts_.out, &child.out};
  if (!terminal.errors() && child.err) second_ = {child.err.get(), &our_err_, &parts_.err, &child.err};
  else if (terminal.errors() && !terminal.output()) second_ = {master, &our_err_, &parts_.err};
  keys_open_ = terminal.raw();

  parts_.state.child = child.pid;
  send_state();
  if (!child.started()) {
    ended_ = true;
    parts_.state.ended = true;
    parts_.state.status = 126 << 8;
    parts_.state.ended_at = stream::nanoseconds(parts_.clock.now());
  }
  reap(&child);
  while (!ended_) turn(&child, stream::never);
  while (!drained()) turn(&child, parts_.clock.now() + 20ms);
  leave_the_rest(child);
  first_.source = second_.source = -1;
  child.hold.close();
}

void PassThrough::settle(std::chrono::milliseconds recorder_wait, std::chrono::milliseconds engine_wait,
                         const std::function<void()>& engine_may_end) {
  parts_.recorder.hurry();
  parts_.engine.hurry();
  const Time recorder_due = parts_.clock.now() + recorder_wait;
  send_state();
  bool closed = false;
  while (!parts_.recorder.done() && !interrupted_ && parts_.clock.now() < recorder_due) {
    if (!closed && !parts_.out.pending() && !parts_.err.pending()) {
      parts_.out.close_writer();  // all is on its way: the recorder finds the end behind it
      parts_.err.close_writer();
      closed = true;
    }
    turn(nullptr, recorder_due);
  }
  if (!parts_.recorder.done()) {
    say("the recorder did not finish: the end of the journal is missing");
    if (!interrupted_) parts_.recorder.kill();
  } else if (!parts_.recorder.succeeded()) {
    say("the end could not be written: the journal is incomplete");
  }
  parts_.out.close_writer();
  parts_.err.close_writer();
  engine_may_end();
  const Time engine_due = parts_.clock.now() + engine_wait;
  const unsigned last_start = parts_.engine.starts() + more_starts;
  while (!parts_.engine.done() && !interrupted_ && parts_.clock.now() < engine_due &&
         (parts_.engine.running() || parts_.engine.starts() < last_start))
    turn(nullptr, engine_due);
  if (!parts_.engine.done()) {
    if (parts_.recorder.succeeded()) say("the engine did not finish: run `tocsin replay` on the journal");
    if (!interrupted_) parts_.engine.kill();
  }
  if (parts_.state.dropped > 0)
    say(std::to_string(parts_.state.dropped) +
        " bytes of output came faster than they could be recorded, and are not in the journal");
  parts_.notes.finish(our_err_, screen(), parts_.terminal.raw());
  for (const Time due = parts_.clock.now() + 1s; our_err_.pending() && parts_.clock.now() < due;) turn(nullptr, due);
}

namespace {
constexpr std::size_t longest = 64 * 1024;  // of a note without a newline
}

void Notes::print(Outlet& out, const Outlet& screen, bool raw, bool all) {
  std::size_t end = held_.rfind('\n');
  if (end == std::string::npos) {
    if (held_.empty() || (!all && held_.size() < longest)) return;
    held_.push_back('\n');
    end = held_.size() - 1;
  }
  const std::string_view newline = raw ? "\r\n" : "\n";
  std::string text;
  if (!screen.at_line_start()) text.append(newline);
  for (const char c : std::string_view{held_}.substr(0, end + 1)) {
    if (c == '\n') text.append(newline);
    else text.push_back(c);
  }
  held_.erase(0, end + 1);
  out.write(text);
}

void Notes::pass(Outlet& out, const Outlet& screen, bool raw) {
  char bytes[4096];
  for (int i = 0; i < 16 && !out.pending(); ++i) {
    const ssize_t size = ::read(pipe_.read.get(), bytes, sizeof bytes);
    if (size <= 0) break;
    held_.append(bytes, static_cast<std::size_t>(size));
    print(out, screen, raw, false);
  }
}

void Notes::say(std::string_view line, Outlet& out, const Outlet& screen, bool raw) {
  if (!held_.empty() && held_.back() != '\n') held_.push_back('\n');
  held_.append(line).push_back('\n');
  print(out, screen, raw, false);
}

void Notes::finish(Outlet& out, const Outlet& screen, bool raw) {
  for (;;) {
    pass(out, screen, raw);
    char byte;
    if (out.pending() || ::read(pipe_.read.get(), &byte, 1) != 1) break;
    held_.push_back(byte);
  }
  print(out, screen, raw, true);
}

}  // namespace tocsin::adapters::wrap
