// What the JSON readers share: the library's event parser with the position of each event, and one way to fail.
#pragma once

#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "formats/format_error.h"

namespace attend {

// A handler derives from this and adds the events of nlohmann's SAX interface; an event returns false, by way of Fail,
// to stop.
class JsonHandler {
 public:
  // `offset_in_file` is added to positions. `name` must outlive the handler.
  JsonHandler(ErrorCode code, const std::string& name, uint64_t offset_in_file)
      : code_(code), name_(name), offset_in_file_(offset_in_file) {}

  bool binary(nlohmann::json::binary_t&) { return Fail("the JSON text", "text", "binary data"); }

  bool parse_error(size_t, const std::string&, const nlohmann::json::exception& fault) {
    constexpr size_t kMaxBytes = 160;  // the library quotes the whole of a bad token
    if (position_ > 0) --position_;    // the byte at fault has been read
    return Fail("the JSON text", "valid JSON", std::string(fault.what()).substr(0, kMaxBytes));
  }

  template <typename Handler>
  friend Result<void> RunJson(std::string_view text, Handler& handler);

 protected:
  bool Fail(std::string subject, std::string expected, std::string found) {
    return FailAs(code_, std::move(subject), std::move(expected), std::move(found));
  }

  bool FailAs(ErrorCode code, std::string subject, std::string expected, std::string found) {
    error_ =
        FormatError(code, name_, std::move(subject), std::move(expected), std::move(found), offset_in_file_ + position_)
            .value();
    return false;
  }

 private:
  ErrorCode code_;
  const std::string& name_;
  uint64_t offset_in_file_;
  size_t position_ = 0;  // of the byte after the last one read
  std::optional<Error> error_;
};

// Counts what the parser has read, which its events do not tell.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, size_t* count) : at_(at), count_(count) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*count_;
    return *this;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  size_t* count_;
};

template <typename Handler>
Result<void> RunJson(std::string_view text, Handler& handler) {
  JsonHandler& base = handler;
  const CountingIterator begin(text.data(), &base.position_);
  const CountingIterator end(text.data() + text.size(), &base.position_);
  if (nlohmann::json::sax_parse(begin, end, &handler)) return {};
  return tl::unexpected(std::move(*base.error_));
}

}  // namespace attend
