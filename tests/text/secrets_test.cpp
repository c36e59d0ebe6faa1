// Secrets in texts: shapes filled with random values, none of which was ever a secret, and texts that only look alike.
#include <doctest/doctest.h>

#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/text/extraction.h"
#include "tests/seed.h"

using tocsin::dsl::text::mask_secrets;

namespace {

// {w}: a word with a digit, as people choose passwords; {aN}: letters and digits; {xN}: hexadecimal; {uN}: capitals and
// digits; {bN}: base64. What stands in them is the secret.
struct Filled {
  std::string text;
  std::vector<std::string> values;
};

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  Filled fill(std::string_view shape) {
    Filled out;
    while (!shape.empty()) {
      const auto open = shape.find('{'), close = shape.find('}', open);
      const std::string_view inside =
          open == shape.npos || close == shape.npos ? std::string_view{} : shape.substr(open + 1, close - open - 1);
      const std::string value = made(inside);
      if (value.empty()) {
        const auto end = std::min(open == shape.npos ? shape.size() : open + 1, shape.size());
        out.text += shape.substr(0, end);
        shape.remove_prefix(end);
        continue;
      }
      (out.text += shape.substr(0, open)) += value;
      out.values.push_back(value);
      shape.remove_prefix(close + 1);
    }
    return out;
  }

 private:
  std::string made(std::string_view form) {
    if (form == "w") return of("abcdefghijklmnopqrstuvwxyz", 7) + of("0123456789", 2) + of("!#%+", 1);
    if (form.size() < 2 || form.find_first_not_of("0123456789", 1) != form.npos) return "";
    const auto size = static_cast<std::size_t>(std::stoi(std::string{form.substr(1)}));
    // No run of letters alone: what is made by a generator has digits and both cases.
    if (form[0] == 'a') return "7Qz4" + of("abcdefghijkmnpqrstuvwxyzABCDEFGHIJKLMNPQRSTUVWXYZ0123456789", size - 4);
    if (form[0] == 'b') return "9Kd2" + of("abcdefghijkmnpqrstuvwxyzABCDEFGHIJKLMNPQRSTUVWXYZ0123456789", size - 4);
    if (form[0] == 'x') return "8f3a" + of("0123456789abcdef", size - 4);
    if (form[0] == 'u') return "4QX7" + of("ABCDEFGHIJKLMNPQRSTUVWXYZ234567", size - 4);
    return "";
  }
  std::string of(std::string_view letters, std::size_t size) {
    std::string out;
    while (out.size() < size) out += letters[random_() % letters.size()];
    return out;
  }
  std::mt19937 random_;
};

// The lines of secrets.txt that begin with this sign; \n in them is an end of line.
std::vector<std::string> shapes(char sign) {
  std::vector<std::string> out;
  std::ifstream in{std::string{TOCSIN_SOURCE_DIR} + "/tests/text/secrets.txt"};
  for (std::string line; std::getline(in, line);) {
    if (line.size() < 3 || line[0] != sign) continue;
    std::string shape = line.substr(2);
    for (auto at = shape.find("\\n"); at != shape.npos; at = shape.find("\\n")) shape.replace(at, 2, "\n");
    out.push_back(std::move(shape));
  }
  return out;
}

}  // namespace

TEST_CASE("secrets of every known shape are masked, and their names are kept") {
  const unsigned seed = tocsin::test::seed(26);
  Generator generator{seed};
  std::size_t tried = 0;
  for (const std::string& shape : shapes('+'))
    for (int again = 0; again < 3; ++again) {
      const Filled filled = generator.fill(shape);
      const std::string masked = mask_secrets(filled.text);
      CAPTURE(shape);
      CAPTURE(filled.text);
      CAPTURE(masked);
      REQUIRE(!filled.values.empty());
      for (const std::string& value : filled.values) CHECK(masked.find(value) == masked.npos);
      CHECK(masked.find("***") != masked.npos);
      // At most the name's first letters are left of a text that is nothing but a token.
      CHECK(masked.substr(0, 2) == filled.text.substr(0, 2));
      ++tried;
    }
  CHECK(tried >= 200);
}

TEST_CASE("what only looks like a secret stays as it is") {
  const unsigned seed = tocsin::test::seed(27);
  Generator generator{seed};
  std::size_t tried = 0;
  for (const std::string& shape : shapes('-')) {
    const std::string text = generator.fill(shape).text;
    CAPTURE(shape);
    CHECK(mask_secrets(text) == text);
    ++tried;
  }
  CHECK(tried >= 200);
}

TEST_CASE("all secrets of a text are masked, and what stands between them stays") {
  CHECK(mask_secrets("a --password hunter22 b api_key=0123456789abcdef, c https://me:pa/ss@w0rd@host/x d") ==
        "a --password *** b api_key=***, c https://me:***@host/x d");
  CHECK(mask_secrets("password=\"open sesame\" password='x y'") == "password=*** password=***");
}
