#include "dsl/text/straight.h"

#include <cstring>

#include "dsl/text/number.h"

namespace tocsin::dsl::text {
namespace {

constexpr std::uint32_t most_steps = 2'000;  // of one search; beyond that RE2 is faster

bool word(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

void fill(std::bitset<256>& set, bool (*in)(unsigned char), bool negated = false) {
  for (unsigned c = 0; c < 256; ++c)
    if (in(static_cast<unsigned char>(c)) != negated) set.set(c);
}
bool is_digit(unsigned char c) { return c >= '0' && c <= '9'; }
bool is_space(unsigned char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r'; }

bool class_of(char letter, std::bitset<256>& set) {
  switch (letter) {
    case 'd': fill(set, is_digit); return true;
    case 'D': fill(set, is_digit, true); return true;
    case 's': fill(set, is_space); return true;
    case 'S': fill(set, is_space, true); return true;
    case 'w': fill(set, word); return true;
    case 'W': fill(set, word, true); return true;
    default: return false;
  }
}
bool punctuation(char c) { return c > 0x20 && c < 0x7F && !word(static_cast<unsigned char>(c)); }

}  // namespace

// Parses an expression; fails at anything that is not straight.
class Straight::Parser {
 public:
  explicit Parser(std::string_view rest) : rest_(rest) {}

  bool read(std::vector<Atom>& out) {
    std::vector<std::uint8_t> open;
    std::uint8_t groups = 0;
    while (!rest_.empty()) {
      if (rest_.front() == '^') {
        if (!out.empty()) return false;
        out.push_back(atom(Atom::Kind::begin));
        rest_.remove_prefix(1);
      } else if (rest_.front() == '$') {
        rest_.remove_prefix(1);
        out.push_back(atom(Atom::Kind::end));
      } else if (rest_.substr(0, 2) == "\\b") {
        rest_.remove_prefix(2);
        out.push_back(atom(Atom::Kind::boundary));
      } else if (rest_.substr(0, 3) == "(?:") {
        if (!choice(out)) return false;
      } else if (rest_.front() == '(') {
        rest_.remove_prefix(1);
        if (rest_.substr(0, 3) == "?P<") {
          const std::size_t close = rest_.find('>');
          if (close == rest_.npos) return false;
          rest_.remove_prefix(close + 1);
        } else if (!rest_.empty() && rest_.front() == '?') {
          return false;
        }
        if (++groups > most_groups) return false;
        out.push_back(atom(Atom::Kind::open));
        out.back().group = groups;
        open.push_back(groups);
      } else if (rest_.front() == ')') {
        if (open.empty()) return false;
        rest_.remove_prefix(1);
        out.push_back(atom(Atom::Kind::close));
        out.back().group = open.back();
        open.pop_back();
        if (repeated()) return false;
      } else if (macro("NUM", out)) {
        out.push_back(atom(Atom::Kind::number));
        if (repeated()) return false;
      } else if (macro("INT", out)) {
        out.push_back(atom(Atom::Kind::integer));
        if (repeated()) return false;
      } else if (!character(out)) {
        return false;
      }
    }
    return open.empty();
  }

 private:
  static Atom atom(Atom::Kind kind) {
    Atom made;
    made.kind = kind;
    return made;
  }
  [[nodiscard]] bool repeated() const { return !rest_.empty() && std::strchr("*+?{", rest_.front()); }

  // In the form of for_capturing(): words of their own.
  bool macro(std::string_view name, const std::vector<Atom>& out) {
    if (rest_.substr(0, 3) != name || (rest_.size() > 3 && word(static_cast<unsigned char>(rest_[3])))) return false;
    if (!out.empty() && out.back().kind == Atom::Kind::literal &&
        word(static_cast<unsigned char>(out.back().literal.back())))
      return false;
    rest_.remove_prefix(3);
    return true;
  }

  // One character or class, with its repetition.
  bool character(std::vector<Atom>& out) {
    std::bitset<256> set;
    char literal = '\0';
    bool single = false;
    const char c = rest_.front();
    if (c == '\\') {
      if (rest_.size() < 2) return false;
      const char escaped = rest_[1];
      rest_.remove_prefix(2);
      if (punctuation(escaped)) single = true, literal = escaped;
      else if (!class_of(escaped, set)) return false;
    } else if (c == '[') {
      if (!bracket(set)) return false;
    } else if (c == '.') {
      rest_.remove_prefix(1);
      set.set();
      set.reset('\n');
    } else if (std::strchr("*+?{|)}", c)) {
      return false;
    } else {
      single = true, literal = c;
      rest_.remove_prefix(1);
    }
    if (single && !repeated()) {
      if (out.empty() || out.back().kind != Atom::Kind::literal) out.push_back(atom(Atom::Kind::literal));
      out.back().literal.push_back(literal);
      return true;
    }
    if (single) set.set(static_cast<unsigned char>(literal));
    Atom run = atom(Atom::Kind::run);
    run.set = set;
    run.least = 1;
    run.most = 1;
    if (repeated()) {
      const char how = rest_.front();
      if (how == '{') return false;
      rest_.remove_prefix(1);
      run.least = how == '+' ? 1 : 0;
      if (how != '?') run.most = 0xFFFFFFFFu;
      if (!rest_.empty() && rest_.front() == '?') run.lazy = true, rest_.remove_prefix(1);
      if (repeated()) return false;
    }
    out.push_back(std::move(run));
    return true;
  }

  bool bracket(std::bitset<256>& set) {
    std::size_t i = 1;
    const bool negated = rest_.size() > 1 && rest_[1] == '^';
    if (negated) ++i;
    for (bool first = true; i < rest_.size() && (rest_[i] != ']' || first); first = false) {
      if (rest_[i] == '[') return false;
      if (rest_[i] == '\\') {
        if (i + 1 >= rest_.size()) return false;
        if (punctuation(rest_[i + 1])) set.set(static_cast<unsigned char>(rest_[i + 1]));
        else if (!class_of(rest_[i + 1], set)) return false;
        i += 2;
      } else if (i + 2 < rest_.size() && rest_[i + 1] == '-' && rest_[i + 2] != ']') {
        if (rest_[i + 2] == '\\') return false;
        for (int c = static_cast<unsigned char>(rest_[i]); c <= static_cast<unsigned char>(rest_[i + 2]); ++c)
          set.set(static_cast<std::size_t>(c));
        i += 3;
      } else {
        set.set(static_cast<unsigned char>(rest_[i++]));
      }
    }
    if (i >= rest_.size()) return false;
    if (negated) set.flip();
    rest_.remove_prefix(i + 1);
    return true;
  }

  // (?:one|two) or (?:one|two)? of plain words.
  bool choice(std::vector<Atom>& out) {
    rest_.remove_prefix(3);
    Atom made = atom(Atom::Kind::choice);
    made.choices.emplace_back();
    for (;;) {
      if (rest_.empty()) return false;
      const char c = rest_.front();
      if (c == ')') break;
      if (c == '|') {
        made.choices.emplace_back();
        rest_.remove_prefix(1);
        continue;
      }
      if (c == '\\') {
        if (rest_.size() < 2 || !punctuation(rest_[1])) return false;
        made.choices.back().push_back(rest_[1]);
        rest_.remove_prefix(2);
      } else if (std::strchr("[](.*+?{}^$", c)) {
        return false;
      } else {
        const std::string_view three = rest_.substr(0, 3);
        if (three == "NUM" || three == "INT") return false;
        made.choices.back().push_back(c);
        rest_.remove_prefix(1);
      }
    }
    rest_.remove_prefix(1);
    if (!rest_.empty() && rest_.front() == '?') {
      made.choices.emplace_back();
      rest_.remove_prefix(1);
    }
    if (repeated()) return false;
    out.push_back(std::move(made));
    return true;
  }

  std::string_view rest_;
};

std::optional<Straight> Straight::compile(std::string_view expression) {
  Straight straight;
  if (!Parser(expression).read(straight.atoms_)) return std::nullopt;
  for (const Atom& atom : straight.atoms_)
    if (atom.kind == Atom::Kind::open) ++straight.groups_;
  // A search needs something to search for: a literal, with nothing wide before it.
  std::size_t first = 0;
  while (first < straight.atoms_.size() &&
         (straight.atoms_[first].kind == Atom::Kind::boundary || straight.atoms_[first].kind == Atom::Kind::open))
    ++first;
  if (first == straight.atoms_.size()) return std::nullopt;
  const Atom::Kind kind = straight.atoms_[first].kind;
  if (kind != Atom::Kind::literal && kind != Atom::Kind::begin) return std::nullopt;
  straight.first_ = first;
  return straight;
}

struct Straight::Search {
  const std::vector<Atom>& atoms;
  std::string_view text;
  Groups& groups;
  std::uint32_t steps = 0;
  bool unsure = false;

  [[nodiscard]] bool boundary(std::size_t at) const {
    const bool before = at > 0 && word(static_cast<unsigned char>(text[at - 1]));
    const bool after = at < text.size() && word(static_cast<unsigned char>(text[at]));
    return before != after;
  }

  bool match(std::size_t index, std::size_t at) {
    for (; index < atoms.size(); ++index) {
      if (++steps > most_steps) return unsure = true, false;
      const Atom& atom = atoms[index];
      switch (atom.kind) {
        case Atom::Kind::literal:
          if (text.compare(at, atom.literal.size(), atom.literal) != 0) return false;
          at += atom.literal.size();
          break;
        case Atom::Kind::begin:
          if (at != 0) return false;
          break;
        case Atom::Kind::end:
          if (at != text.size()) return false;
          break;
        case Atom::Kind::boundary:
          if (!boundary(at)) return false;
          break;
        case Atom::Kind::open: groups[atom.group] = text.substr(at, 0); break;
        case Atom::Kind::close: {
          const std::string_view begun = groups[atom.group];
          groups[atom.group] =
              std::string_view(begun.data(), static_cast<std::size_t>(text.data() + at - begun.data()));
          break;
        }
        case Atom::Kind::number:
        case Atom::Kind::integer: {
          const std::string_view rest = text.substr(at);
          const std::size_t size = atom.kind == Atom::Kind::number ? number_length(rest) : integer_length(rest);
          if (size == 0) return false;
          if (match(index + 1, at + size)) return true;
          if (size > 1) unsure = true;  // a shorter one can match: RE2 decides
          return false;
        }
        case Atom::Kind::choice: {
          const Groups before = groups;
          for (const std::string& each : atom.choices) {
            if (text.compare(at, each.size(), each) != 0) continue;
            if (match(index + 1, at + each.size())) return true;
            if (unsure) return false;
            groups = before;
          }
          return false;
        }
        case Atom::Kind::run: return run(atom, index, at);
      }
    }
    groups[0] = std::string_view(groups[0].data(), static_cast<std::size_t>(text.data() + at - groups[0].data()));
    return true;
  }

  bool run(const Atom& atom, std::size_t index, std::size_t at) {
    std::size_t longest = at;
    const std::size_t limit = atom.most < text.size() - at ? at + atom.most : text.size();
    while (longest < limit && atom.set.test(static_cast<unsigned char>(text[longest]))) ++longest;
    const std::size_t shortest = at + atom.least;
    if (longest < shortest) return false;
    // The text that must follow selects where to try: most places are skipped without a step.
    const Atom* next = index + 1 < atoms.size() ? &atoms[index + 1] : nullptr;
    std::size_t after = index + 1;
    while (next &&
           (next->kind == Atom::Kind::boundary || next->kind == Atom::Kind::open || next->kind == Atom::Kind::close))
      next = ++after < atoms.size() ? &atoms[after] : nullptr;
    const std::string_view wanted =
        next && next->kind == Atom::Kind::literal ? std::string_view(next->literal) : std::string_view{};
    const Groups before = groups;
    if (atom.lazy) {
      for (std::size_t end = shortest; end <= longest; ++end) {
        if (!wanted.empty()) {
          end = text.find(wanted, end);
          if (end > longest) return false;
        }
        if (match(index + 1, end)) return true;
        if (unsure) return false;
        groups = before;
      }
    } else {
      for (std::size_t end = longest;; --end) {
        if (!wanted.empty()) {
          end = text.rfind(wanted, end);
          if (end == text.npos || end < shortest) return false;
        }
        if (match(index + 1, end)) return true;
        if (unsure || end == shortest) return false;
        groups = before;
      }
    }
    return false;
  }
};

Straight::Answer Straight::search(std::string_view text, std::size_t from, Groups& groups) const {
  Search search{atoms_, text, groups};
  const Atom& first = atoms_[first_];
  const bool anchored = first.kind == Atom::Kind::begin;
  if (anchored && from > 0) return Answer::no;
  for (std::size_t at = from; at <= text.size(); ++at) {
    if (!anchored) {
      at = text.find(first.literal, at);
      if (at == text.npos) return Answer::no;
    }
    for (std::size_t i = 0; i <= groups_; ++i) groups[i] = {};
    groups[0] = text.substr(at, 0);
    if (search.match(0, at)) return Answer::yes;
    if (search.unsure) return Answer::unsure;
    if (anchored) return Answer::no;
  }
  return Answer::no;
}

}  // namespace tocsin::dsl::text
