#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "stream/values/archivable.h"
#include "stream/values/result.h"

// The content of a snapshot's section: an object is a list of fields; a field is a tag, a length and that many bytes,
// little-endian. A reader skips unknown tags, and a value without a field keeps its default, so a section can gain
// fields without a new format number. A tag is permanent: a field whose type or meaning changes takes a new one, and
// the tag of a removed field stays unused. schemas/ frames and checksums sections.
//
// A type is saved and loaded by save(Writer&) and load(Reader&), or lists its fields once for both:
//   static void fields(auto& self, auto& archive) { archive(1, self.clock), archive(2, self.names); }
namespace tocsin::stream {

class Writer {
 public:
  // `expected`: about how many bytes there will be. A long section that grows byte by byte is copied, and takes twice
  // as long.
  explicit Writer(std::size_t expected = 0) {
    bytes_.reserve(expected);
    bytes_.resize(sizeof(std::uint64_t));  // the length of the section, which detects a cut at the end of a field
  }

  // A field. An empty optional writes none.
  template <class T>
  void operator()(Tag tag, const T& value) {
    if constexpr (is_optional<T>) {
      if (value) (*this)(tag, *value);
    } else {
      const std::size_t begin = open(tag);
      put(value);
      close(begin);
    }
  }
  // An object whose fields `fill` writes.
  template <class Fill>
  void object(Tag tag, Fill&& fill) {
    const std::size_t begin = open(tag);
    fill(*this);
    close(begin);
  }
  // A list of objects: `each` writes the fields of an element.
  template <Range R, class Each>
  void list(Tag tag, const R& elements, Each&& each) {
    const std::size_t begin = open(tag);
    for (const auto& element : elements) object(element_tag, [&](Writer& out) { each(out, element); });
    close(begin);
  }
  // Fields that `fill` writes when the bytes are asked for, perhaps in another thread: nothing may change what it
  // reads. It must not put off anything itself.
  void later(std::function<void(Writer&)> fill) { later_.push_back({bytes_.size(), open_, std::move(fill)}); }
  // A list of small structs, stored as one array per member: the n-th member has tag n for ever.
  template <Range R, class... Members>
  void columns(Tag tag, const R& elements, Members... members) {
    const std::size_t begin = open(tag);
    Tag next = 1;
    (column(next++, elements, members), ...);
    close(begin);
  }

  // How many bytes there are without what is put off.
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  [[nodiscard]] std::span<const std::byte> bytes() {
    if (!later_.empty()) write_later();
    const std::uint64_t length = bytes_.size() - sizeof length;
    std::memcpy(bytes_.data(), &length, sizeof length);
    return bytes_;
  }
  [[nodiscard]] std::vector<std::byte> take() && {
    (void)bytes();
    return std::move(bytes_);
  }

 private:
  struct Later {
    std::size_t at;                   // in bytes_: where its bytes belong
    std::vector<std::size_t> within;  // where the content of the fields that hold it begins
    std::function<void(Writer&)> fill;
  };

  // The header holds the length in 48 bits below the 16 of the tag; it is known at the end.
  std::size_t open(Tag tag) {
    append(std::uint64_t{tag} << 48);
    return open_.emplace_back(bytes_.size());
  }
  void close(std::size_t begin) {
    lengthen(begin, bytes_.size() - begin);
    open_.pop_back();
  }
  void lengthen(std::size_t begin, std::size_t by) {
    std::uint64_t header;
    std::memcpy(&header, bytes_.data() + begin - sizeof header, sizeof header);
    header += by;
    std::memcpy(bytes_.data() + begin - sizeof header, &header, sizeof header);
  }
  void write_later() {
    Writer rest{bytes_.size()};  // one after the other, behind the place of a length
    std::vector<std::size_t> ends{rest.bytes_.size()};
    for (Later& one : later_) {
      std::exchange(one.fill, {})(rest);
      ends.push_back(rest.bytes_.size());
      for (const std::size_t begin : one.within) lengthen(begin, ends.back() - ends[ends.size() - 2]);
    }
    std::vector<std::byte> all;
    all.reserve(bytes_.size() + rest.bytes_.size());
    std::size_t done = 0;
    for (std::size_t i = 0; i < later_.size(); done = later_[i++].at) {
      all.insert(all.end(), bytes_.begin() + offset(done), bytes_.begin() + offset(later_[i].at));
      all.insert(all.end(), rest.bytes_.begin() + offset(ends[i]), rest.bytes_.begin() + offset(ends[i + 1]));
    }
    all.insert(all.end(), bytes_.begin() + offset(done), bytes_.end());
    bytes_ = std::move(all);
    later_.clear();
  }
  static std::ptrdiff_t offset(std::size_t at) noexcept { return static_cast<std::ptrdiff_t>(at); }
  template <class T>
  void append(const T& value) {
    append(&value, sizeof value);
  }
  void append(const void* from, std::size_t size) {
    const auto* bytes = static_cast<const std::byte*>(from);
    bytes_.insert(bytes_.end(), bytes, bytes + size);
  }
  template <class T>
  void put(const T& value) {
    if constexpr (Number<T>) {
      append(value);
    } else if constexpr (Text<T>) {
      const std::string_view text{value};
      append(text.data(), text.size());
    } else if constexpr (requires { value.save(*this); }) {
      value.save(*this);
    } else if constexpr (requires { T::fields(value, *this); }) {
      T::fields(value, *this);
    } else if constexpr (is_pair<T>) {
      (*this)(1, value.first), (*this)(2, value.second);
    } else if constexpr (is_variant<T>) {
      (*this)(1, static_cast<std::uint32_t>(value.index()));
      std::visit([this](const auto& alternative) { (*this)(2, alternative); }, value);
    } else if constexpr (Packable<ElementOf<const T>>) {
      append(static_cast<std::uint32_t>(sizeof(ElementOf<const T>)));
      if constexpr (std::contiguous_iterator<decltype(std::begin(value))>)
        append(std::data(value), std::size(value) * sizeof(ElementOf<const T>));
      else
        for (const auto& element : value) append(element);
    } else {
      for (const auto& element : value) (*this)(element_tag, element);
    }
  }
  template <class R, class Member>
  void column(Tag tag, const R& elements, Member member) {
    using Value = std::remove_cvref_t<decltype((*std::begin(elements)).*member)>;
    static_assert(Number<Value>);
    const std::size_t begin = open(tag);
    append(static_cast<std::uint32_t>(sizeof(Value)));
    for (const auto& element : elements) append(element.*member);
    close(begin);
  }

  std::vector<std::byte> bytes_;
  std::vector<std::size_t> open_;  // where the content of the fields begins that are not closed
  std::vector<Later> later_;
};

// Reads what a Writer of this, an older or a newer program wrote. After the first error nothing is read, and values
// stay as they are. Check status() once, at the end.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> section) : error_(&own_error_) {
    std::uint64_t length = 0;
    if (section.size() >= sizeof length) std::memcpy(&length, section.data(), sizeof length);
    if (section.size() < sizeof length || length > section.size() - sizeof length) fail("it ends too early");
    else bytes_ = section.subspan(sizeof length, static_cast<std::size_t>(length));
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Reads the value of a field; without the field it stays as it is.
  template <class T>
  void operator()(Tag tag, T& value) {
    if (const auto field = find(tag)) get(*field, value);
  }
  template <class T>
  [[nodiscard]] T get(Tag tag, T value = {}) {
    (*this)(tag, value);
    return value;
  }
  // `read` reads the fields of the object, if there is one.
  template <class Read>
  void object(Tag tag, Read&& read) {
    if (const auto field = find(tag)) {
      Reader in{*field, error_};
      read(in);
    }
  }
  // `each` reads the fields of an element.
  template <class Each>
  void list(Tag tag, Each&& each) {
    if (const auto field = find(tag))
      each_element(*field, [&](std::span<const std::byte> element) {
        Reader in{element, error_};
        each(in);
      });
  }
  template <class R, class... Members>
  void columns(Tag tag, R& elements, Members... members) {
    object(tag, [&](Reader& in) {
      elements.clear();
      Tag next = 1;
      (in.column(next++, elements, members), ...);
    });
  }

  [[nodiscard]] bool ok() const noexcept { return !*error_; }
  [[nodiscard]] Result<void> status() const {
    if (*error_) return **error_;
    return {};
  }
  // Records that the content is impossible.
  void fail(std::string_view why) {
    fail(Error{Errc::malformed, "the snapshot's section is torn: " + std::string{why}});
  }
  void fail(Error error) {
    if (!*error_) *error_ = std::move(error);
    bytes_ = {};
  }

 private:
  struct Field {
    Tag tag;
    std::span<const std::byte> bytes;
  };
  Reader(std::span<const std::byte> object, std::optional<Error>* error) : bytes_(object), error_(error) {}

  // The field at `at`, which moves behind it; nullopt: there is none, or it is longer than the rest.
  std::optional<Field> next(std::size_t& at) {
    std::uint64_t header;
    if (*error_ || at == bytes_.size()) return std::nullopt;
    if (bytes_.size() - at < sizeof header) return fail("a field ends too early"), std::nullopt;
    std::memcpy(&header, bytes_.data() + at, sizeof header);
    const std::uint64_t length = header & ((std::uint64_t{1} << 48) - 1);
    at += sizeof header;
    if (length > bytes_.size() - at) return fail("a field ends too early"), std::nullopt;
    const Field field{static_cast<Tag>(header >> 48), bytes_.subspan(at, static_cast<std::size_t>(length))};
    at += field.bytes.size();
    return field;
  }
  // Fields are usually read in the order in which they were written.
  std::optional<std::span<const std::byte>> find(Tag tag) {
    const std::size_t from = at_;
    while (const auto field = next(at_))
      if (field->tag == tag) return field->bytes;
    at_ = 0;
    while (at_ < from) {
      const auto field = next(at_);
      if (!field) break;
      if (field->tag == tag) return field->bytes;
    }
    return std::nullopt;
  }
  template <class Each>
  void each_element(std::span<const std::byte> list, Each&& each) {
    Reader in{list, error_};
    std::size_t at = 0;
    while (const auto field = in.next(at))
      if (field->tag == element_tag) each(field->bytes);
  }
  template <class T>
  void get(std::span<const std::byte> from, T& value) {
    if constexpr (is_optional<T>) {
      get(from, value.emplace());
    } else if constexpr (std::is_same_v<T, bool>) {
      std::uint8_t byte = 0;
      get(from, byte);
      value = byte != 0;
    } else if constexpr (Number<T>) {
      if (from.size() != sizeof value) return fail("a number has another size");
      T read;
      std::memcpy(&read, from.data(), sizeof read);
      if constexpr (requires { is_possible(read); }) {
        if (!is_possible(read)) return fail("it holds a value that cannot be");
      }
      value = read;
    } else if constexpr (std::is_same_v<T, std::string>) {
      value.assign(reinterpret_cast<const char*>(from.data()), from.size());
    } else if constexpr (requires(Reader & in) { value.load(in); }) {
      Reader in{from, error_};
      if constexpr (std::is_void_v<decltype(value.load(in))>) value.load(in);
      else if (auto loaded = value.load(in); !loaded) fail(loaded.error());
    } else if constexpr (requires(Reader & in) { T::fields(value, in); }) {
      Reader in{from, error_};
      T::fields(value, in);
    } else if constexpr (is_pair<T>) {
      Reader in{from, error_};
      in(1, value.first), in(2, value.second);
    } else if constexpr (is_variant<T>) {
      Reader in{from, error_};
      const auto index = in.get<std::uint32_t>(1);
      [&]<std::size_t... i>(std::index_sequence<i...>) {
        ((i == index ? in(2, value.template emplace<i>()) : void()), ...);
      }
      (std::make_index_sequence<std::variant_size_v<T>>{});
    } else if constexpr (requires { typename T::mapped_type; }) {
      value.clear();
      each_element(from, [&](std::span<const std::byte> element) {
        std::pair<typename T::key_type, typename T::mapped_type> entry;
        get(element, entry);
        if (ok()) value.insert(std::move(entry));
      });
    } else if constexpr (requires { typename std::tuple_size<T>::type; }) {  // an array: as many as there are
      std::size_t i = 0;
      if constexpr (Packable<ElementOf<T>>) {
        std::vector<ElementOf<T>> read;
        get(from, read);
        for (; i < read.size() && i < value.size(); ++i) value[i] = read[i];
      } else {
        each_element(from, [&](std::span<const std::byte> element) {
          if (i < value.size()) get(element, value[i++]);
        });
      }
    } else if constexpr (Packable<ElementOf<T>>) {
      get_packed(from, value);
    } else {
      value.clear();
      each_element(from, [&](std::span<const std::byte> element) { get(element, value.emplace_back()); });
    }
  }
  template <class R>
  void get_packed(std::span<const std::byte> from, R& values) {
    using Element = ElementOf<R>;
    values.clear();
    std::uint32_t size = 0;
    if (from.size() < sizeof size) return fail("an array ends too early");
    std::memcpy(&size, from.data(), sizeof size);
    from = from.subspan(sizeof size);
    if (size == 0 || from.size() % size != 0 || (Number<Element> && size != sizeof(Element)))
      return fail("an array's elements have another size");
    values.resize(from.size() / size);
    if constexpr (std::contiguous_iterator<decltype(std::begin(values))>) {
      if (size == sizeof(Element) && !from.empty()) std::memcpy(std::data(values), from.data(), from.size());
    }
    if (size != sizeof(Element) || !std::contiguous_iterator<decltype(std::begin(values))>) {
      for (auto& value : values) {
        std::memcpy(&value, from.data(), std::min<std::size_t>(size, sizeof value));
        from = from.subspan(size);
      }
    }
    if constexpr (requires { is_possible(Element{}); }) {
      if (!std::all_of(values.begin(), values.end(), [](Element value) { return is_possible(value); }))
        return values.clear(), fail("it holds a value that cannot be");
    }
  }
  // The first column gives the number of elements; a column of a newer program can be missing.
  template <class R, class Member>
  void column(Tag tag, R& elements, Member member) {
    using Value = std::remove_cvref_t<decltype((*std::begin(elements)).*member)>;
    using Stored = std::conditional_t<std::is_same_v<Value, bool>, std::uint8_t, Value>;
    const auto field = find(tag);
    if (!field) return;
    std::vector<Stored> values;
    get_packed(*field, values);
    if (tag == 1) elements.resize(values.size());
    if (!ok() || values.size() != elements.size()) return elements.clear(), fail("its columns have different lengths");
    auto value = values.begin();
    for (auto& element : elements) element.*member = static_cast<Value>(*value++);
  }

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  std::optional<Error> own_error_;
  std::optional<Error>* error_;
};

}  // namespace tocsin::stream
