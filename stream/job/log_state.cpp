#include "stream/job/log_state.h"

namespace tocsin::stream {

void LogState::save(Writer& out) const {
  out(1, clock), out(2, last_beat), out(3, sealed), out(4, watermarks), out(5, packs), out(6, duplicates);
}

void LogState::load(Reader& in) {
  in(1, clock), in(2, last_beat), in(3, sealed), in(4, watermarks), in(5, packs), in(6, duplicates);
}

}  // namespace tocsin::stream
