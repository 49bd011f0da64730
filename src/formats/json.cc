#include "formats/json.h"

#include <vector>

#include "formats/json_sax.h"

namespace attend {
namespace {

// Builds the value that the events describe. The stack holds the open objects and arrays; children of open ones never
// move, because only the innermost grows.
class JsonBuilder : public JsonHandler {
 public:
  JsonBuilder(const std::string& name, size_t text_bytes, int max_depth)
      : JsonHandler(ErrorCode::kJsonBad, name, 0),
        max_depth_(max_depth),
        values_left_(text_bytes / 16 + (size_t{1} << 18)) {}

  nlohmann::json Take() { return std::move(root_); }

  bool null() { return Add(nullptr); }
  bool boolean(bool value) { return Add(value); }
  bool number_integer(int64_t value) { return Add(value); }
  bool number_unsigned(uint64_t value) { return Add(value); }
  bool number_float(double value, const std::string&) { return Add(value); }
  bool string(std::string& value) { return Add(std::move(value)); }
  bool start_object(size_t) { return Open(nlohmann::json::object()); }
  bool start_array(size_t) { return Open(nlohmann::json::array()); }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }

  bool key(std::string& name) {
    const auto [place, is_new] = open_.back()->get_ref<nlohmann::json::object_t&>().emplace(name, nullptr);
    if (!is_new) return Fail(Subject("key", name), "each key once", "a second one");
    member_ = &place->second;
    return true;
  }

 private:
  bool Add(nlohmann::json value) { return Place(std::move(value)) != nullptr; }

  bool Open(nlohmann::json container) {
    if (open_.size() >= max_depth_) {
      return Fail("the JSON text", "nesting of at most " + std::to_string(max_depth_), "deeper nesting");
    }
    nlohmann::json* place = Place(std::move(container));
    if (place != nullptr) open_.push_back(place);
    return place != nullptr;
  }

  bool Close() {
    open_.pop_back();
    return true;
  }

  nlohmann::json* Place(nlohmann::json value) {
    if (values_left_-- == 0) {
      Fail("the JSON text", "fewer values", "too many for a text of this size");
      return nullptr;
    }
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (open_.back()->is_array())
      return &open_.back()->get_ref<nlohmann::json::array_t&>().emplace_back(std::move(value));
    *member_ = std::move(value);
    return member_;
  }

  size_t max_depth_;
  size_t values_left_;  // a value takes 16 bytes and a growing array twice that: bounds memory by the size of the text
  nlohmann::json root_;
  std::vector<nlohmann::json*> open_;
  nlohmann::json* member_ = nullptr;  // of the innermost object, waiting for its value
};

}  // namespace

Result<nlohmann::json> ParseJson(std::string_view text, const std::string& name, int max_depth) {
  JsonBuilder builder(name, text.size(), max_depth);
  ATTEND_RETURN_IF_ERROR(RunJson(text, builder));
  return builder.Take();
}

}  // namespace attend
