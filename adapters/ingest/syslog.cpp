// rsyslog's default template: TIME HOST TAG TEXT, where the tag is PROGRAM: or PROGRAM[PID]:.
#include "adapters/formats/parse_time.h"
#include "adapters/ingest/item.h"

namespace tocsin::adapters::ingest {

void read_syslog(std::string_view message, Items& out) {
  Item item;
  each_line(message, [&](std::string_view line, std::uint32_t number) {
    if (line.empty()) return;
    item.clear();
    item.place = number;
    std::string_view rest = line;
    const auto word = [&rest] {
      const std::string_view found = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(found.size() + 1, rest.size()));
      return found;
    };
    item.time = formats::parse_time(word());
    const std::string_view host = word(), tag = word();
    if (!item.time || host.empty() || tag.empty())
      return out.left_out(
          Reason::malformed, number,
          "no line of rsyslog's default template (TIME HOST TAG: TEXT, the time as RFC 3339): " + shortened(line));
    item.labels.push_back({"host", host});
    item.labels.push_back({"program", tag.substr(0, tag.find_first_of("[:"))});
    item.text = rest;
    out.item(item);
  });
}

}  // namespace tocsin::adapters::ingest
