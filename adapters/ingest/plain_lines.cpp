// Lines as programs write them, and the kernel's own.
#include "adapters/ingest/item.h"

namespace tocsin::adapters::ingest {

void read_lines(std::string_view message, Items& out) {
  Item item;
  each_line(message, [&](std::string_view line, std::uint32_t number) {
    item.clear();
    item.place = number;
    item.text = line;
    out.item(item);
  });
}

// PRIORITY,NUMBER,MICROSECONDS,FLAGS;TEXT, a record each; lines of a record's dictionary begin with a blank.
void read_kernel_records(std::string_view message, Items& out) {
  Item item;
  each_line(message, [&](std::string_view line, std::uint32_t number) {
    if (line.empty() || line.front() == ' ') return;
    const std::size_t end = line.find(';');
    if (end == line.npos) return out.left_out(Reason::malformed, number, "no record of /dev/kmsg: " + shortened(line));
    item.clear();
    item.place = number;
    item.text = line.substr(end + 1);
    out.item(item);
  });
}

}  // namespace tocsin::adapters::ingest
