#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace tocsin::adapters::wrap {

// Splits the bytes of one stream into lines. A line ends at \n, \r or \r\n (progress bars redraw with \r). Nothing
// between two redraws is not a line; an empty line that ends with \n is one. A line longer than `longest` is cut into
// pieces, which are counted. Owned by the Recorder, one a stream. Bytes pass as they are: NUL and invalid UTF-8 too.
class LineSplitter {
 public:
  static constexpr std::size_t longest = 64 * 1024;
  using Line = std::function<void(std::string_view)>;  // valid for the call

  void feed(std::string_view bytes, const Line& line);
  void finish(const Line& line);  // the stream has ended: what is left is a line

  [[nodiscard]] std::uint64_t cut() const noexcept { return cut_; }

 private:
  void give(std::string_view tail, bool redraw, const Line& line);
  void give_pieces(std::string_view text, const Line& line);

  std::string held_;           // the beginning of a line whose end has not come
  bool after_return_ = false;  // the last byte was \r: a \n right after it belongs to it
  bool empty_before_return_ = false;
  std::uint64_t cut_ = 0;
};

}  // namespace tocsin::adapters::wrap
