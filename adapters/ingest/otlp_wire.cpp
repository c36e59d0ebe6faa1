// OpenTelemetry's protobuf, read where it lies: the few fields that matter, by their numbers in opentelemetry-proto.
#include <bit>
#include <cstring>

#include "adapters/ingest/otlp.h"

namespace tocsin::adapters::ingest {
namespace {

struct Field {
  std::uint32_t number = 0;
  enum class Type : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 } type = Type::varint;
  std::uint64_t value = 0;  // of numbers
  std::string_view bytes;

  [[nodiscard]] bool is(std::uint32_t wanted, Type of) const { return number == wanted && type == of; }
  [[nodiscard]] bool is_message(std::uint32_t wanted) const { return is(wanted, Type::bytes); }
};

// The fields of a message, one after another.
class Wire {
 public:
  explicit Wire(std::string_view bytes) : rest_(bytes) {}

  // False: the end, or what follows is no field.
  bool next(Field& field) {
    if (rest_.empty() || torn_) return false;
    std::uint64_t key = 0, length = 0;
    torn_ = true;
    if (!varint(key) || key >> 3 == 0 || key >> 3 > 0x1FFFFFFF) return false;
    field.number = static_cast<std::uint32_t>(key >> 3);
    switch (key & 7) {
      case 0:
        if (!varint(field.value)) return false;
        break;
      case 1:
        if (!fixed(8, field.value)) return false;
        break;
      case 2:
        if (!varint(length) || length > rest_.size()) return false;
        field.bytes = rest_.substr(0, length);
        rest_.remove_prefix(length);
        break;
      case 5:
        if (!fixed(4, field.value)) return false;
        break;
      default: return false;  // groups, which are not used any more, and what there never was
    }
    field.type = static_cast<Field::Type>(key & 7);
    torn_ = false;
    return true;
  }
  [[nodiscard]] bool torn() const noexcept { return torn_; }

 private:
  bool varint(std::uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      if (shift == 63 && byte > 1) return false;
      value |= std::uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool fixed(std::size_t size, std::uint64_t& value) {
    if (rest_.size() < size) return false;
    value = 0;
    std::memcpy(&value, rest_.data(), size);  // the machines that this runs on are little endian, as the format is
    rest_.remove_prefix(size);
    return true;
  }
  static_assert(std::endian::native == std::endian::little);

  std::string_view rest_;
  bool torn_ = false;
};

// Reads a whole message; what is torn ends it.
class Reading {
 public:
  Reading(bool logs, OtlpRecords& records) : logs_(logs), records_(records) {}

  // False: the bytes are torn.
  bool message(std::string_view bytes) {
    return each(bytes, [&](const Field& field) { return !field.is_message(1) || group(field.bytes); });
  }

 private:
  using Type = Field::Type;

  template <class Visit>
  static bool each(std::string_view bytes, Visit visit) {
    Wire wire{bytes};
    Field field;
    while (wire.next(field))
      if (!visit(field)) return false;
    return !wire.torn();
  }

  bool group(std::string_view bytes) {
    records_.begin_resource();
    // The resource may stand behind what it holds for.
    const bool whole = each(bytes, [&](const Field& field) {
      return !field.is_message(1) || attributes(field.bytes, 1, [&](Label label) { records_.add_to_resource(label); });
    });
    return whole && each(bytes, [&](const Field& field) {
             if (!field.is_message(2)) return true;
             return each(field.bytes, [&](const Field& record) {
               if (!record.is_message(2)) return true;
               return logs_ ? log(record.bytes) : metric(record.bytes);
             });
           });
  }

  // AnyValue: a scalar as a text.
  bool scalar(std::string_view bytes, std::optional<std::string_view>& text) {
    return each(bytes, [&](const Field& field) {
      if (field.is_message(1)) text = field.bytes;
      else if (field.is(2, Type::varint)) text = field.value != 0 ? "true" : "false";
      else if (field.is(3, Type::varint))
        text = records_.texts.keep(std::to_string(static_cast<std::int64_t>(field.value)));
      else if (field.is(4, Type::fixed64)) text = records_.texts.keep(shortest(std::bit_cast<double>(field.value)));
      return true;
    });
  }
  template <class Add>
  bool attributes(std::string_view bytes, std::uint32_t number, Add add) {
    return each(bytes, [&](const Field& field) {
      if (!field.is_message(number)) return true;
      std::string_view key;
      std::optional<std::string_view> text;
      const bool whole = each(field.bytes, [&](const Field& part) {
        if (part.is_message(1)) key = part.bytes;
        return !part.is_message(2) || scalar(part.bytes, text);
      });
      if (whole && !key.empty() && text) add(Label{key, *text});
      return whole;
    });
  }

  bool metric(std::string_view bytes) {
    std::string_view name;
    if (!each(bytes, [&](const Field& field) {
          if (field.is_message(1)) name = field.bytes;
          return true;
        }))
      return false;
    if (!records_.good_name(name)) return true;
    return each(bytes, [&](const Field& field) {
      constexpr std::uint32_t gauge = 5, sum = 7, histogram = 9, exponential = 10, summary = 11;
      if (field.is_message(gauge) || field.is_message(sum)) return data(name, field.bytes, field.number == sum);
      if (field.is_message(histogram) || field.is_message(exponential) || field.is_message(summary))
        records_.unwanted();
      return true;
    });
  }
  bool data(std::string_view name, std::string_view bytes, bool sum) {
    bool differences = false;
    const bool whole = each(bytes, [&](const Field& field) {
      if (sum && field.is(2, Type::varint)) differences = field.value == 1;
      return true;
    });
    return whole && each(bytes, [&](const Field& field) {
             return !field.is_message(1) || point(name, field.bytes, differences);
           });
  }
  bool point(std::string_view name, std::string_view bytes, bool differences) {
    records_.begin_record();
    std::optional<double> number;
    bool recorded = true;
    const bool whole = each(bytes, [&](const Field& field) {
      if (field.is(3, Type::fixed64)) records_.time(field.value);
      else if (field.is(4, Type::fixed64)) number = std::bit_cast<double>(field.value);
      else if (field.is(6, Type::fixed64)) number = static_cast<double>(static_cast<std::int64_t>(field.value));
      else if (field.is(8, Type::varint)) recorded = (field.value & 1) == 0;
      return true;
    });
    if (!whole || !attributes(bytes, 7, [&](Label label) { records_.add_to_record(label); })) return false;
    records_.give_sample(name, recorded ? number : std::nullopt, differences);
    return true;
  }

  bool log(std::string_view bytes) {
    records_.begin_record();
    const auto add = [&](Label label) { records_.add_to_record(label); };
    std::uint64_t time = 0, observed = 0;
    std::string_view body;
    const bool whole = each(bytes, [&](const Field& field) {
      if (field.is(1, Type::fixed64)) time = field.value;
      else if (field.is(11, Type::fixed64)) observed = field.value;
      else if (field.is_message(5)) body = field.bytes;
      return true;
    });
    if (!whole || !attributes(bytes, 6, add)) return false;
    records_.time(observed), records_.time(time);
    constexpr std::uint32_t map = 6;
    if (!scalar(body, records_.item.text)) return false;
    const bool mapped =
        each(body, [&](const Field& field) { return !field.is_message(map) || attributes(field.bytes, 1, add); });
    if (mapped) records_.give_line();
    return mapped;
  }

  bool logs_;
  OtlpRecords& records_;
};

// Nothing but the fields of a group of one resource: the resource, records by scope, an address of their schema.
bool is_group(std::string_view bytes) {
  constexpr std::uint32_t schema = 3, deprecated = 1000;
  Wire wire{bytes};
  Field field;
  while (wire.next(field))
    if (field.type != Field::Type::bytes || (field.number > schema && field.number != deprecated)) return false;
  return !wire.torn();
}

}  // namespace

// JSON begins with a brace, behind blanks at most. So does protobuf whose first group is as long as a brace's code, 123
// bytes: the tag in front is a newline's.
bool is_otlp_json(std::string_view message) {
  const auto first = message.find_first_not_of(" \t\r\n");
  if (first == message.npos || message[first] != '{') return false;
  Wire wire{message};
  Field field;
  while (wire.next(field))
    if (!field.is_message(1) || !is_group(field.bytes)) return true;
  return wire.torn();
}

void read_otlp_wire(bool logs, std::span<const std::string> text, std::string_view message, Items& out) {
  OtlpRecords records{text, out};
  if (!Reading{logs, records}.message(message))
    out.left_out(
        Reason::malformed, records.place() + 1,
        "the bytes are no protobuf of OTLP, or are cut short, behind record " + std::to_string(records.place()));
}

}  // namespace tocsin::adapters::ingest
