#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "schemas/layout.h"
#include "schemas/limits.h"

namespace tocsin::schemas {

[[nodiscard]] inline Bytes bytes_of(const flatbuffers::Vector<std::uint8_t>* bytes) {
  return bytes == nullptr ? Bytes{} : Bytes{bytes->data(), bytes->size()};
}
[[nodiscard]] inline std::string_view characters(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
// The verifier checks the place of a vector, not the alignment of its elements.
template <class T>
[[nodiscard]] bool aligned(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr || reinterpret_cast<std::uintptr_t>(vector->Data()) % alignof(T) == 0;
}
template <class T>
[[nodiscard]] std::span<const T> span_of(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? std::span<const T>{}
                           : std::span<const T>{reinterpret_cast<const T*>(vector->Data()), vector->size()};
}

template <class Table>
using Tables = flatbuffers::Vector<flatbuffers::Offset<Table>>;

inline std::string_view view(const flatbuffers::String* text) {
  return text == nullptr ? std::string_view{} : text->string_view();
}
template <class T>
std::size_t size_of(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? 0 : vector->size();
}

// Verifies and reads in one pass, with one lookup in the vtable per field; false: an offset leads outside of the
// message.
class VerifiedReader {
 public:
  VerifiedReader(const flatbuffers::Table& table, const flatbuffers::Verifier& verifier)
      : table_(table), base_(reinterpret_cast<const std::uint8_t*>(&table)), verifier_(verifier) {}

  template <class T>
  bool number(flatbuffers::voffset_t field, T& out) const {
    const auto at = table_.GetOptionalFieldOffset(field);
    if (at == 0) return true;
    if (!verifier_.VerifyField<T>(base_, at, sizeof(T))) return false;
    out = flatbuffers::ReadScalar<T>(base_ + at);
    return true;
  }
  bool text(flatbuffers::voffset_t field, std::string_view& out) const {
    const flatbuffers::String* text = nullptr;
    if (!pointer(field, text) || !verifier_.VerifyString(text)) return false;
    out = view(text);
    return true;
  }
  template <class T>
  bool vector(flatbuffers::voffset_t field, const flatbuffers::Vector<T>*& out) const {
    return pointer(field, out) && verifier_.VerifyVector(out);
  }
  // Elements that are read in place; the verifier does not check their alignment.
  template <class T>
  bool values(flatbuffers::voffset_t field, std::span<const T>& out) const {
    const flatbuffers::Vector<T>* found = nullptr;
    if (!vector(field, found)) return false;
    if (found == nullptr) return true;
    out = {reinterpret_cast<const T*>(found->Data()), found->size()};
    return reinterpret_cast<std::uintptr_t>(out.data()) % alignof(T) == 0;
  }
  template <class Table>
  bool tables(flatbuffers::voffset_t field, const Tables<Table>*& out) const {
    return vector(field, out) && size_of(out) <= most_blocks;
  }

 private:
  template <class T>
  bool pointer(flatbuffers::voffset_t field, const T*& out) const {
    const auto at = table_.GetOptionalFieldOffset(field);
    if (at == 0) return true;
    if (!verifier_.VerifyOffset(base_, at)) return false;
    out = reinterpret_cast<const T*>(base_ + at + flatbuffers::ReadScalar<flatbuffers::uoffset_t>(base_ + at));
    return true;
  }

  const flatbuffers::Table& table_;
  const std::uint8_t* base_;
  const flatbuffers::Verifier& verifier_;
};

}  // namespace tocsin::schemas
