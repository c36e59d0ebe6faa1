#include <re2/re2.h>

#include <array>
#include <string>
#include <string_view>

#include "dsl/text/extraction.h"

namespace tocsin::dsl::text {
namespace {

// A form of secret, and its replacement.
struct Rule {
  RE2 expression;
  const char* rewrite;
};

RE2::Options options() {
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);
  options.set_log_errors(false);
  return options;
}

}  // namespace

std::string mask_secrets(std::string_view text) {
  static const std::array<Rule, 7> rules{{
      {{R"(\b((?:hf_|sk-|rk-|pk-|ghp_|gho_|ghs_|ghu_|ghr_|github_pat_|glpat-|xox[abprs]-|AKIA|ASIA|AIza|nvapi-|wandb_|npm_|dckr_pat_))[\w-]{8,})",
        options()},
       R"(\1***)"},
      {{R"(\beyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)?)", options()}, "eyJ***"},
      {{R"((?i)\b((?:bearer|basic|token)\s+)[\w.~+/-]{8,}=*)", options()}, R"(\1***)"},
      {{R"((\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s/:@'"]*):[^\s/@'"]+@)", options()}, R"(\1:***@)"},
      {{R"((?i)([\w-]*(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|private[_-]?key|auth[_-]?token|access[_-]?token|credentials?)[\w-]*["']?\s*[=:]\s*)(?:"[^"]*"|'[^']*'|[^\s,;&"']+))",
        options()},
       R"(\1***)"},
      {{R"((?i)((?:^|[^a-z])(?:token|pwd|key|sig|signature)["']?\s*[=:]\s*["']?)[\w+/.-]{16,}=*)", options()},
       R"(\1***)"},
      {{R"((?i)((?:key|secret|token|password)\W{1,3}(?:is|was|of)?\W{0,2})(?:[0-9a-f]{32,}|[A-Za-z0-9+/]{40,}={0,2}))",
        options()},
       R"(\1***)"},
  }};
  std::string out(text);
  for (const Rule& rule : rules) RE2::GlobalReplace(&out, rule.expression, rule.rewrite);
  return out;
}

}  // namespace tocsin::dsl::text
