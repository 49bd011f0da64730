#include "tensor/kv_format.h"

namespace attend {
namespace {

std::optional<DType> CellType(std::string_view name) {
  for (DType dtype : {DType::kF32, DType::kBf16, DType::kF16, DType::kQ8, DType::kQ4}) {
    if (NameOf(dtype) == name) return dtype;
  }
  return std::nullopt;
}

}  // namespace

std::string NameOf(const KvFormat& format) {
  std::string name(NameOf(format.k));
  if (format.v != format.k) name += "," + std::string(NameOf(format.v));
  if (format.scale_group != kWholeHead) name += "/" + std::to_string(format.scale_group);
  if (!format.rotate_k && format.k == DType::kQ4) name += "-h";
  return name;
}

std::optional<KvFormat> ParseKvFormat(std::string_view name) {
  KvFormat format;
  const bool as_it_is = name.ends_with("-h");
  if (as_it_is) name.remove_suffix(2);
  const bool grouped = name.ends_with("/32");
  if (grouped) {
    format.scale_group = kGroupValues;
    name.remove_suffix(3);
  }
  const size_t comma = name.find(',');
  const auto k = CellType(name.substr(0, comma));
  const auto v = comma == std::string_view::npos ? k : CellType(name.substr(comma + 1));
  if (!k || !v || (grouped && !IsQuantisedKv(*k) && !IsQuantisedKv(*v))) return std::nullopt;
  if (as_it_is && k != DType::kQ4) return std::nullopt;
  format.rotate_k = k == DType::kQ4 && !as_it_is;
  format.k = *k;
  format.v = *v;
  return format;
}

}  // namespace attend
