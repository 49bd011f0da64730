#include "formats/safetensors_header.h"

#include <array>
#include <optional>

#include "base/checked_math.h"
#include "formats/json_sax.h"

namespace attend {
namespace {

constexpr size_t kMaxDims = 32;
constexpr size_t kMaxNameBytes = 1024;

struct NamedType {
  std::string_view name;
  std::optional<DType> dtype;  // nothing: the format has it, attend does not read it
};

constexpr NamedType kTypes[] = {
    {"F32", DType::kF32},
    {"F16", DType::kF16},
    {"BF16", DType::kBf16},
    {"F64", DType::kF64},
    {"I8", DType::kI8},
    {"I16", DType::kI16},
    {"I32", DType::kI32},
    {"I64", DType::kI64},
    {"U8", DType::kU8},
    {"BOOL", DType::kBool},
    {"U16", {}},
    {"U32", {}},
    {"U64", {}},
    {"F8_E5M2", {}},
    {"F8_E4M3", {}},
    {"F8_E8M0", {}},
    {"F6_E2M3", {}},
    {"F6_E3M2", {}},
    {"F4", {}},
    {"C64", {}},
};

const NamedType* FindType(std::string_view name) {
  for (const NamedType& type : kTypes) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

// {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ..., "__metadata__": {"key": "text"}}
// The state says where we are, which bounds the depth: anything deeper than the format has no place to go.
class HeaderHandler : public JsonHandler {
 public:
  HeaderHandler(const std::string& name, uint64_t offset_in_file)
      : JsonHandler(ErrorCode::kSafetensorsBadHeader, name, offset_in_file) {}

  SafetensorsHeader Take() { return std::move(header_); }

  bool null() { return Misplaced("null"); }
  bool boolean(bool) { return Misplaced("a boolean"); }
  bool number_integer(int64_t value) { return Misplaced("the number " + std::to_string(value)); }
  bool number_float(double, const std::string& text) { return Misplaced("the number " + Quote(text)); }

  bool number_unsigned(uint64_t value) {
    if (state_ == State::kShape && tensor_.shape.size() < kMaxDims) {
      tensor_.shape.push_back(value);
      return true;
    }
    if (state_ == State::kOffsets && num_offsets_ < offsets_.size()) {
      offsets_[num_offsets_++] = value;
      return true;
    }
    return Misplaced("the number " + std::to_string(value));
  }

  bool string(std::string& text) {
    if (state_ == State::kMetadata) {
      if (!header_.metadata.emplace(key_, text).second) return Twice("metadata key", key_);
      return true;
    }
    if (state_ != State::kTensor || field_ != Field::kDtype) return Misplaced("the text " + Quote(text));
    const NamedType* type = FindType(text);
    if (type == nullptr) {
      return FailAs(ErrorCode::kSafetensorsBadTensor, Subject("tensor", tensor_.name), "a known dtype", Quote(text));
    }
    if (!type->dtype) {
      return FailAs(ErrorCode::kUnsupportedTensorType, Subject("tensor", tensor_.name), "F32, F16 or BF16", text);
    }
    tensor_.dtype = *type->dtype;
    return true;
  }

  bool start_object(size_t) {
    if (state_ == State::kStart) return Enter(State::kRoot);
    if (state_ != State::kRoot) return Misplaced("an object");
    if (key_ == "__metadata__") return seen_metadata_ ? Twice("key", key_) : Enter(State::kMetadata);
    if (const auto fault = FaultOfName(key_)) return Fail("a tensor's name", "a name", *fault);
    if (key_.size() > kMaxNameBytes) return Fail("a tensor's name", "at most 1024 bytes", std::to_string(key_.size()));
    tensor_ = {};
    tensor_.name = key_;
    seen_fields_ = 0;
    return Enter(State::kTensor);
  }

  bool key(std::string& name) {
    key_ = std::move(name);
    if (state_ != State::kTensor) return true;
    if (key_ == "dtype") return SelectField(Field::kDtype);
    if (key_ == "shape") return SelectField(Field::kShape);
    if (key_ == "data_offsets") return SelectField(Field::kOffsets);
    return Fail(Subject("tensor", tensor_.name), "dtype, shape and data_offsets", Subject("key", key_));
  }

  bool end_object() {
    if (state_ == State::kRoot) return Enter(State::kEnd);
    if (state_ == State::kMetadata) {
      seen_metadata_ = true;
      return Enter(State::kRoot);
    }
    return FinishTensor() && Enter(State::kRoot);
  }

  bool start_array(size_t) {
    if (state_ == State::kTensor && field_ == Field::kShape) return Enter(State::kShape);
    if (state_ != State::kTensor || field_ != Field::kOffsets) return Misplaced("an array");
    num_offsets_ = 0;
    return Enter(State::kOffsets);
  }

  bool end_array() {
    if (state_ == State::kOffsets && num_offsets_ != offsets_.size()) {
      return Fail(Subject("tensor", tensor_.name), "two data_offsets", std::to_string(num_offsets_));
    }
    return Enter(State::kTensor);
  }

 private:
  enum class State { kStart, kRoot, kMetadata, kTensor, kShape, kOffsets, kEnd };
  enum class Field { kDtype = 1, kShape = 2, kOffsets = 4 };

  bool Enter(State state) {
    state_ = state;
    return true;
  }

  bool SelectField(Field field) {
    if ((seen_fields_ & static_cast<int>(field)) != 0) return Twice("key", key_);
    seen_fields_ |= static_cast<int>(field);
    field_ = field;
    return true;
  }

  bool Twice(std::string_view kind, std::string_view name) {
    return FailAs(ErrorCode::kSafetensorsDuplicate, Subject(kind, name), "each key once", "a second one");
  }

  bool Misplaced(std::string found) {
    switch (state_) {
      case State::kMetadata:
        return Fail(Subject("metadata key", key_), "text", std::move(found));
      case State::kRoot:
        return Fail(Subject("tensor", key_), "an object", std::move(found));
      case State::kTensor:
        return Fail(Subject("tensor", tensor_.name), "a fitting " + key_, std::move(found));
      case State::kShape:
        return Fail(Subject("tensor", tensor_.name), "a shape of at most 32 integers of 0 or more", std::move(found));
      case State::kOffsets:
        return Fail(Subject("tensor", tensor_.name), "two data_offsets of 0 or more", std::move(found));
      default:
        return Fail("the header", "an object", std::move(found));
    }
  }

  bool FinishTensor() {
    const std::string subject = Subject("tensor", tensor_.name);
    if (seen_fields_ != 7) return Fail(subject, "dtype, shape and data_offsets", "not all of them");
    if (offsets_[0] > offsets_[1]) {
      return FailAs(ErrorCode::kSafetensorsBadOffset, subject, "data_offsets in rising order",
                    ShapeText({offsets_[0], offsets_[1]}));
    }
    // Empty dimensions count as 1 in the overflow test, so the order of dimensions does not matter.
    std::optional<uint64_t> bytes = InfoOf(tensor_.dtype).block_bytes;
    bool is_empty = false;
    for (const uint64_t dim : tensor_.shape) {
      is_empty |= dim == 0;
      if (bytes) bytes = CheckedMultiply(*bytes, std::max<uint64_t>(dim, 1));
    }
    tensor_.offset = offsets_[0];
    tensor_.bytes = offsets_[1] - offsets_[0];
    if (!bytes || (is_empty ? 0 : *bytes) != tensor_.bytes) {
      return FailAs(
          ErrorCode::kSafetensorsBadTensor, subject,
          "data_offsets that hold " + ShapeText(tensor_.shape) + " values of " + std::string(NameOf(tensor_.dtype)),
          std::to_string(tensor_.bytes) + " bytes");
    }
    header_.tensors.push_back(std::move(tensor_));
    return true;
  }

  SafetensorsHeader header_;
  State state_ = State::kStart;
  Field field_ = Field::kDtype;
  int seen_fields_ = 0;
  bool seen_metadata_ = false;
  std::string key_;
  TensorEntry tensor_;
  std::array<uint64_t, 2> offsets_ = {};
  size_t num_offsets_ = 0;
};

}  // namespace

Result<SafetensorsHeader> ParseSafetensorsHeader(std::string_view text, const std::string& name,
                                                 uint64_t offset_in_file) {
  HeaderHandler handler(name, offset_in_file);
  ATTEND_RETURN_IF_ERROR(RunJson(text, handler));
  return handler.Take();
}

}  // namespace attend
