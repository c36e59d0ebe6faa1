#include "dsl/text/lines.h"

#include <algorithm>

#include "dsl/text/number.h"

namespace tocsin::dsl::text {
namespace {

constexpr std::uint32_t most_ranks = 262'144;

// Reads one line from left to right.
struct Cursor {
  std::string_view rest;
  std::size_t at = 0;

  [[nodiscard]] char peek(std::size_t ahead = 0) const { return at + ahead < rest.size() ? rest[at + ahead] : '\0'; }
  bool take(char c) { return peek() == c && at < rest.size() ? (++at, true) : false; }
  bool take_digits(std::size_t least, std::size_t most) {
    std::size_t n = 0;
    while (n < most && digit(peek())) ++at, ++n;
    return n >= least && !digit(peek());
  }
};

std::optional<std::uint32_t> rank_of(std::string_view digits) {
  if (digits.empty() || digits.size() > 6) return std::nullopt;
  std::uint32_t value = 0;
  for (char c : digits) {
    if (!digit(c)) return std::nullopt;
    value = value * 10 + static_cast<std::uint32_t>(c - '0');
  }
  if (value >= most_ranks) return std::nullopt;
  return value;
}

// 2024-11-20 14:37:16, 2024-11-20T14:37:16.123456+00:00, 2024/11/20 14:37:16,123
bool take_time(Cursor& cursor) {
  Cursor c = cursor;
  if (!c.take_digits(4, 4) || !(c.take('-') || c.take('/')) || !c.take_digits(2, 2) || !(c.take('-') || c.take('/')) ||
      !c.take_digits(2, 2) || !(c.take(' ') || c.take('T')) || !c.take_digits(2, 2) || !c.take(':') ||
      !c.take_digits(2, 2) || !c.take(':') || !c.take_digits(2, 2))
    return false;
  if (c.take('.') || c.take(',')) c.take_digits(1, 9);
  if (!c.take('Z') && (c.peek() == '+' || c.peek() == '-') && digit(c.peek(1))) {
    ++c.at;
    while (digit(c.peek()) || c.peek() == ':') ++c.at;
  }
  cursor = c;
  return true;
}

// E1206 18:44:12.715298 746 file.cpp:607] as glog writes it, without or within brackets.
bool take_glog(Cursor& cursor) {
  Cursor c = cursor;
  if (!(c.take('I') || c.take('W') || c.take('E') || c.take('F'))) return false;
  if (!c.take_digits(3, 4) || !c.take(' ') || !c.take_digits(2, 2) || !c.take(':') || !c.take_digits(2, 2) ||
      !c.take(':') || !c.take_digits(2, 2) || !c.take('.'))
    return false;
  const std::size_t end = c.rest.substr(c.at, 200).find(']');
  if (end == std::string_view::npos) return false;
  cursor.at = c.at + end + 1;
  return true;
}

bool place_in_source(std::string_view text) {  // trainer.py:4021, logging.py:96:log_dist, axolotl.utils:281
  const std::size_t colon = text.find(':');
  return colon != text.npos && colon + 1 < text.size() && digit(text[colon + 1]) &&
         text.substr(0, colon).find('.') != text.npos && text.find_first_of(" =,") == text.npos;
}

// Whether the text in a pair of brackets is a logger's tag and not part of the message.
bool logger_tag(std::string_view inside) {
  if (inside.empty()) return false;
  if (std::all_of(inside.begin(), inside.end(), [](char c) { return c >= 'A' && c <= 'Z'; }) || inside == "titan")
    return true;  // [INFO]
  if (inside.substr(0, 4) == "PID:") return true;
  if (const std::size_t bar = inside.find('|'); bar != inside.npos) return place_in_source(inside.substr(bar + 1));
  if (inside.size() > 2 && inside[1] == ' ' && place_in_source(inside.substr(2)))
    return true;  // [E ProcessGroupNCCL.cpp:458]
  if (std::all_of(inside.begin(), inside.end(), [](char c) { return digit(c) || c == '.' || c == ' '; }) &&
      inside.find('.') != inside.npos)
    return true;  // [   18.617069], the kernel's
  Cursor c{inside};
  if (take_time(c) && c.at == inside.size()) return true;
  c = {inside};
  if ((c.take('I') || c.take('W') || c.take('E') || c.take('F')) && c.take_digits(3, 4) && c.take(' ') &&
      c.take_digits(2, 2) && c.take(':'))
    return true;  // [E1206 18:44:12.71 file.cpp:607]
  return place_in_source(inside);
}

bool take_bracket(Cursor& cursor, Prefix& prefix) {
  const std::string_view text = cursor.rest.substr(cursor.at, 160);
  const std::size_t close = text.find(']');
  if (close == text.npos || close < 2) return false;
  const std::string_view inside = text.substr(1, close - 1);
  // [rank3]: [default7]: [trainer0]:
  if (close + 1 < text.size() && text[close + 1] == ':') {
    std::size_t name = inside.size();
    while (name > 0 && digit(inside[name - 1])) --name;
    const std::string_view role = inside.substr(0, name);
    const bool word = !role.empty() &&
                      std::all_of(role.begin(), role.end(), [](char c) { return letter(c) || c == '_' || c == '-'; });
    if (auto rank = rank_of(inside.substr(name)); rank && word) {
      const bool global = role == "rank" || role == "Rank";
      if (global || !prefix.rank || prefix.local) {  // the process's own value of its rank wins
        prefix.rank = rank;
        prefix.local = !global;
      }
      cursor.at += close + 2;
      return true;
    }
    return false;
  }
  // [Rank 3] [rank 3] [RANK:3] [rank3]
  if (inside.size() > 4 &&
      (inside.substr(0, 4) == "Rank" || inside.substr(0, 4) == "rank" || inside.substr(0, 4) == "RANK")) {
    std::string_view rest = inside.substr(4);
    if (rest.front() == ' ' || rest.front() == ':' || rest.front() == '=') rest.remove_prefix(1);
    if (auto rank = rank_of(rest)) {
      prefix.rank = rank;
      prefix.local = false;
      cursor.at += close + 1;
      return true;
    }
  }
  if (!logger_tag(inside)) return false;
  cursor.at += close + 1;
  return true;
}

// [1,3]<stderr>: of mpirun --tag-output, [1,mpirank:3,algo-1]<stdout>: of SageMaker: the number of the job, then the
// rank.
bool take_tag(Cursor& cursor, Prefix& prefix) {
  Cursor c = cursor;
  if (!c.take('[') || !c.take_digits(1, 4) || !c.take(',')) return false;
  constexpr std::string_view word = "mpirank:";
  if (c.rest.substr(c.at, word.size()) == word) c.at += word.size();
  const std::size_t begin = c.at;
  if (!c.take_digits(1, 6)) return false;
  const auto rank = rank_of(c.rest.substr(begin, c.at - begin));
  const std::size_t close = c.rest.substr(c.at, 80).find(']');
  if (!rank || close == std::string_view::npos) return false;
  c.at += close + 1;
  for (const std::string_view stream : {"<stdout>:", "<stderr>:"})
    if (c.rest.substr(c.at, stream.size()) == stream) {
      prefix.rank = rank;
      prefix.local = false;
      cursor.at = c.at + stream.size();
      return true;
    }
  return false;
}

// "stderr F " after the time, in logs of container runtimes.
bool take_stream(Cursor& cursor) {
  for (const std::string_view stream : {"stdout F ", "stderr F ", "stdout P ", "stderr P "})
    if (cursor.rest.substr(cursor.at, stream.size()) == stream) {
      cursor.at += stream.size() - 1;
      return true;
    }
  return false;
}

// (RayTrainWorker pid=4009, ip=10.0.0.7), (pretraining, pid=4112) or (VllmWorker rank=3 pid=71)
bool take_worker(Cursor& cursor, Prefix& prefix) {
  const std::string_view text = cursor.rest.substr(cursor.at, 160);
  const std::size_t close = text.find(')');
  if (close == text.npos) return false;
  const std::size_t pid = text.substr(0, close).find("pid=");
  if (pid == text.npos || pid + 4 >= close || !digit(text[pid + 4])) return false;
  if (const std::size_t at = text.substr(0, close).find(" rank="); at != text.npos)
    if (const auto rank = rank_of(text.substr(at + 6, text.find_first_of(" ,)", at + 6) - at - 6)))
      prefix.rank = rank, prefix.local = false;
  cursor.at += close + 1;
  return true;
}

// `3: `, as `srun -l` writes it.
bool take_task(Cursor& cursor, Prefix& prefix) {
  Cursor c = cursor;
  if (!c.take_digits(1, 6)) return false;
  const std::size_t end = c.at;
  if (!c.take(':') || (c.peek() != ' ' && c.at < c.rest.size())) return false;
  const auto rank = rank_of(c.rest.substr(cursor.at, end - cursor.at));
  if (!rank) return false;
  prefix.rank = rank;
  cursor = c;
  return true;
}

// What a logger writes between the time and the message. L is a level, N a name, D digits, _ any blanks.
struct LoggerForm {
  std::string_view form;
  bool begins;  // also without a time in front
};
constexpr LoggerForm logger_forms[] = {
    {"|_L_|_N:N:D_-_", false},  // | INFO     | __main__:train:35 - (loguru)
    {"-_N_-_L_-_", false},      // - trainer - INFO - (logging with a name)
    {"-_L_-_N_-_", false},      // - INFO - trainer -
    {"[N][L]_-_", true},        // [__main__][INFO] - (Hydra)
    {"L:N:", true},             // INFO:root: (logging without a format)
};
constexpr std::string_view levels[] = {"TRACE", "DEBUG", "INFO",  "SUCCESS",  "WARNING",
                                       "WARN",  "ERROR", "FATAL", "CRITICAL", "NOTICE"};

bool take_form(Cursor& cursor, std::string_view form) {
  Cursor c = cursor;
  const auto name = [](char x) { return letter(x) || digit(x) || x == '_' || x == '.' || x == '<' || x == '>'; };
  for (const char part : form) {
    const std::size_t begin = c.at;
    if (part == 'L') {
      const auto level = std::ranges::find_if(levels, [&](std::string_view known) {
        return known.front() == c.peek() && c.rest.substr(begin).starts_with(known) && !letter(c.peek(known.size()));
      });
      if (level == std::end(levels)) return false;
      c.at += level->size();
    } else if (part == 'N') {
      while (name(c.peek()) && c.at < begin + 80) ++c.at;
      if (c.at == begin) return false;
    } else if (part == 'D') {
      if (!c.take_digits(1, 6)) return false;
    } else if (part == '_') {
      while (c.peek() == ' ') ++c.at;
    } else if (!c.take(part)) {
      return false;
    }
  }
  cursor = c;
  return true;
}

bool take_logger(Cursor& cursor, bool begins) {
  const char first = cursor.peek();
  if (first != '|' && first != '-' && first != '[' && !(first >= 'A' && first <= 'Z')) return false;
  return std::any_of(std::begin(logger_forms), std::end(logger_forms),
                     [&](const LoggerForm& of) { return (!begins || of.begins) && take_form(cursor, of.form); });
}

}  // namespace

Prefix read_prefix(std::string_view line) noexcept {
  Prefix prefix;
  Cursor cursor{line};
  for (int item = 0; item < 8; ++item) {
    const std::size_t before = cursor.at;
    std::size_t blanks = 0;
    while (cursor.peek() == ' ' && blanks < 8) ++cursor.at, ++blanks;
    const std::size_t begin = cursor.at;
    const char first = cursor.peek();
    bool taken = false;
    if (first == '[') taken = take_tag(cursor, prefix) || take_bracket(cursor, prefix);
    else if (first == '(') taken = take_worker(cursor, prefix);
    else if (digit(first)) taken = take_time(cursor) || (item == 0 && take_task(cursor, prefix));
    else if (first == 'I' || first == 'W' || first == 'E' || first == 'F') taken = take_glog(cursor);
    else if (first == 's' && item > 0) taken = take_stream(cursor);
    taken = taken || take_logger(cursor, item == 0);
    if (!taken) {
      cursor.at = before;
      break;
    }
    if (Cursor time{line, begin + (first == '[')}; prefix.time.empty() && take_time(time))
      prefix.time = line.substr(begin + (first == '['), time.at - begin - (first == '['));
    if (cursor.peek() == ' ') ++cursor.at;
  }
  prefix.size = cursor.at;
  return prefix;
}

}  // namespace tocsin::dsl::text
