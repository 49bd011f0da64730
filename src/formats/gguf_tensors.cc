#include <algorithm>
#include <limits>
#include <utility>

#include "base/checked_math.h"
#include "formats/format_error.h"
#include "formats/gguf_parser.h"

namespace attend {
namespace {

constexpr uint64_t kMaxNameBytes = 63;
constexpr uint32_t kMaxDims = 4;

}  // namespace

Result<void> GgufParser::ReadTensors(uint64_t count) {
  if (count > cursor_.remaining() / kLeastTensorBytes) {
    return Fail(ErrorCode::kGgufTruncated, "the tensor table", std::to_string(count) + " tensors",
                std::to_string(cursor_.remaining()) + " bytes before the end of the file", cursor_.position());
  }
  file_.tensors_.reserve(count);
  for (uint64_t i = 0; i < count; ++i) ATTEND_RETURN_IF_ERROR(ReadTensor());
  const auto twice =
      file_.tensor_index_.Build(count, [&](size_t i) { return std::string_view(file_.tensors_[i].name); });
  if (!twice) return {};
  return Fail(ErrorCode::kGgufDuplicate, Subject("tensor", file_.tensors_[*twice].name), "each name once",
              "a second one", record_offset_of_[*twice]);
}

Result<void> GgufParser::ReadTensor() {
  record_offset_of_.push_back(cursor_.position());
  TensorEntry tensor;
  ATTEND_ASSIGN_OR_RETURN(const std::string_view name, cursor_.ReadString("a tensor's name", kMaxNameBytes));
  if (const auto fault = FaultOfName(name)) {
    return Fail(ErrorCode::kGgufBadString, "a tensor's name", "a name", *fault, record_offset_of_.back());
  }
  tensor.name = name;
  ATTEND_RETURN_IF_ERROR(ReadShape(tensor));
  ATTEND_ASSIGN_OR_RETURN(const GgufTensorType type, ReadTensorType(name));
  tensor.dtype = type.dtype;
  ATTEND_RETURN_IF_ERROR(SizeTensor(tensor, type));
  ATTEND_ASSIGN_OR_RETURN(tensor.offset, cursor_.Read<uint64_t>("a tensor's offset"));
  if ((tensor.offset & (file_.alignment_ - 1)) != 0) {
    return Fail(ErrorCode::kGgufBadOffset, Subject("tensor", name),
                "an offset that is a multiple of " + std::to_string(file_.alignment_), std::to_string(tensor.offset),
                cursor_.position() - sizeof(uint64_t));
  }
  file_.tensors_.push_back(std::move(tensor));
  return {};
}

Result<void> GgufParser::ReadShape(TensorEntry& tensor) {
  ATTEND_ASSIGN_OR_RETURN(const uint32_t num_dims, cursor_.Read<uint32_t>("a tensor's number of dimensions"));
  if (num_dims > kMaxDims) {
    return Fail(ErrorCode::kGgufBadShape, Subject("tensor", tensor.name), "at most 4 dimensions",
                std::to_string(num_dims), cursor_.position() - sizeof(uint32_t));
  }
  tensor.shape.resize(num_dims);
  for (uint32_t i = 0; i < num_dims; ++i) {
    ATTEND_ASSIGN_OR_RETURN(tensor.shape[num_dims - 1 - i], cursor_.Read<uint64_t>("a tensor's dimension"));
  }
  return {};
}

Result<GgufTensorType> GgufParser::ReadTensorType(std::string_view name) {
  const uint64_t at = cursor_.position();
  ATTEND_ASSIGN_OR_RETURN(const uint32_t id, cursor_.Read<uint32_t>("a tensor's type"));
  const auto type = FindGgufTensorType(id);
  if (!type) {
    return Fail(ErrorCode::kGgufBadType, Subject("tensor", name), "a known tensor type", std::to_string(id), at);
  }
  if (type->dtype == DType::kForeign && wanted_ == Wanted::kAll) {
    return Fail(ErrorCode::kUnsupportedTensorType, Subject("tensor", name), "f32, f16, bf16, q4_0, q4_1 or q8_0",
                std::string(type->name), at, "use a file of one of these types");
  }
  return *type;
}

// Sets the bytes. Empty dimensions count as 1 in the overflow test, so no product is trusted that was not itself
// checked.
Result<void> GgufParser::SizeTensor(TensorEntry& tensor, const GgufTensorType& type) const {
  constexpr uint64_t kMaxDim = std::numeric_limits<int64_t>::max();
  std::optional<uint64_t> bytes = type.block_bytes;
  bool is_empty = false;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    uint64_t dim = tensor.shape[i];
    is_empty |= dim == 0;
    if (dim > kMaxDim) bytes = std::nullopt;
    if (i + 1 == tensor.shape.size()) dim = dim / type.block_values;  // the row
    if (bytes) bytes = CheckedMultiply(*bytes, std::max<uint64_t>(dim, 1));
  }
  if (!bytes) {
    return Fail(ErrorCode::kGgufBadShape, Subject("tensor", tensor.name), "a size below 2^63", ShapeText(tensor.shape),
                record_offset_of_.back());
  }
  const uint64_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
  if (row % type.block_values != 0) {
    return Fail(ErrorCode::kGgufBadShape, Subject("tensor", tensor.name),
                "rows of a multiple of " + std::to_string(type.block_values) + " values for " + std::string(type.name),
                ShapeText(tensor.shape), record_offset_of_.back());
  }
  tensor.bytes = is_empty ? 0 : *bytes;
  return {};
}

// Turns offsets within the data into offsets within the file, in rising order, which shows overlaps.
Result<void> GgufParser::PlaceData() {
  const auto data_offset = CheckedAlignUp(cursor_.position(), file_.alignment_);
  file_.data_offset_ = data_offset.value_or(file_.bytes_.size());
  std::vector<uint32_t> order(file_.tensors_.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(file_.tensors_[a].offset, a) < std::pair(file_.tensors_[b].offset, b);
  });
  uint64_t end = file_.data_offset_;
  const TensorEntry* before = nullptr;
  for (const uint32_t i : order) {
    TensorEntry& tensor = file_.tensors_[i];
    ATTEND_RETURN_IF_ERROR(PlaceTensor(tensor, record_offset_of_[i]));
    if (tensor.bytes == 0) continue;
    if (tensor.offset < end) {
      return Fail(ErrorCode::kGgufBadOffset, Subject("tensor", tensor.name), "data of its own",
                  "data that overlaps tensor " + Quote(before->name), record_offset_of_[i]);
    }
    // Where the file's size says nothing, a hole does: ggml itself refuses files with one.
    if (wanted_ == Wanted::kHeader && tensor.offset - end >= file_.alignment_) {
      return Fail(ErrorCode::kGgufBadOffset, Subject("tensor", tensor.name), "data behind that of the tensor before",
                  "a hole of " + std::to_string(tensor.offset - end) + " bytes", record_offset_of_[i]);
    }
    end = tensor.offset + tensor.bytes;
    before = &tensor;
  }
  return {};
}

Result<void> GgufParser::PlaceTensor(TensorEntry& tensor, uint64_t record_offset) const {
  const uint64_t file_bytes = file_.bytes_.size();
  const auto begin = CheckedAdd(file_.data_offset_, tensor.offset);
  const auto end = begin ? CheckedAdd(*begin, tensor.bytes) : std::nullopt;
  const bool is_whole = wanted_ == Wanted::kAll;
  if (!end || (is_whole && *begin > file_bytes)) {
    return Fail(ErrorCode::kGgufBadOffset, Subject("tensor", tensor.name),
                "data inside the file of " + std::to_string(file_bytes) + " bytes",
                "offset " + std::to_string(tensor.offset), record_offset);
  }
  if (is_whole && *end > file_bytes) {
    return Fail(ErrorCode::kGgufTruncated, Subject("tensor", tensor.name), "data up to byte " + std::to_string(*end),
                "a file of " + std::to_string(file_bytes) + " bytes", record_offset,
                "the file may be incomplete: copy or download it again");
  }
  tensor.offset = *begin;
  return {};
}

}  // namespace attend
