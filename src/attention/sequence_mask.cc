#include "attention/sequence_mask.h"

namespace attend {
namespace {

// Bits [begin, end) of a word, of positions that may lie outside it.
uint64_t Bits(int64_t begin, int64_t end) {
  begin = std::max<int64_t>(begin, 0);
  end = std::min<int64_t>(end, 64);
  if (begin >= end) return 0;
  return (~uint64_t{0} >> (64 - (end - begin))) << begin;
}

}  // namespace

SequenceMask::SequenceMask(const Mask& mask, int64_t sequence, int64_t q_len, int64_t kv_len, int64_t q_begin,
                           int64_t kv_begin)
    : mask_(mask), q_len_(q_len), kv_len_(kv_len) {
  const size_t tiles = static_cast<size_t>((kv_len + kMaskTile - 1) / kMaskTile);
  if (!mask.prefix_lens.empty()) prefix_ = std::min(mask.prefix_lens[sequence], kv_len);
  if (!mask.tiles.empty()) tiles_ = mask.tiles[sequence];
  if (!mask.q_documents.empty()) {
    q_documents_ = mask.q_documents.subspan(q_begin, q_len);
    kv_documents_ = mask.kv_documents.subspan(kv_begin, kv_len);
    for (size_t tile = 0; tile < tiles; ++tile) {
      const auto ids = kv_documents_.subspan(tile * kMaskTile)
                           .first(std::min<size_t>(kMaskTile, static_cast<size_t>(kv_len) - tile * kMaskTile));
      const auto [low, high] = std::minmax_element(ids.begin(), ids.end());
      tile_documents_.push_back({*low, *high});
    }
  }
  if (!mask.key_is_visible.empty()) {
    padding_.assign(tiles, 0);
    for (int64_t key = 0; key < kv_len; ++key) {
      if (mask.key_is_visible[kv_begin + key] != 0) padding_[key / kMaskTile] |= uint64_t{1} << (key % kMaskTile);
    }
  }
}

bool SequenceMask::ListsTile(int64_t token, int64_t tile) const {
  const int64_t row = token / kMaskTile;
  const auto listed =
      tiles_.key_tiles.subspan(tiles_.row_begins[row], tiles_.row_begins[row + 1] - tiles_.row_begins[row]);
  return std::binary_search(listed.begin(), listed.end(), tile);
}

uint64_t SequenceMask::SameDocument(int64_t token, int64_t tile) const {
  const int32_t id = q_documents_[token];
  const KeyRange ids = tile_documents_[tile];
  if (id < ids.begin || id > ids.end) return 0;
  if (ids.begin == ids.end) return ~uint64_t{0};
  uint64_t bits = 0;
  const int64_t first = tile * kMaskTile, count = std::min(kMaskTile, kv_len_ - first);
  for (int64_t c = 0; c < count; ++c) bits |= uint64_t{kv_documents_[first + c] == id} << c;
  return bits;
}

uint64_t SequenceMask::Visible(int64_t token, int64_t tile) const {
  const int64_t first = tile * kMaskTile;
  const KeyRange band = mask_.Band(token, q_len_, kv_len_);
  uint64_t bits = Bits(band.begin - first, band.end - first) | Bits(0, prefix_ - first);
  if (bits != 0 && !padding_.empty()) bits &= padding_[tile];
  if (bits != 0 && !tiles_.row_begins.empty() && !ListsTile(token, tile)) return 0;
  if (bits != 0 && !q_documents_.empty()) bits &= SameDocument(token, tile);
  return bits;
}

KeyRange SequenceMask::KeysOf(int64_t first, int64_t last) const {
  KeyRange keys = {mask_.Band(first, q_len_, kv_len_).begin, mask_.Band(last - 1, q_len_, kv_len_).end};
  if (prefix_ > 0) keys = {0, std::max(keys.end, prefix_)};
  if (keys.begin >= keys.end) return {keys.begin, keys.begin};
  return keys;
}

SequenceMask::Sight SequenceMask::Classify(int64_t first, int64_t last, int64_t tile) const {
  const int64_t begin = tile * kMaskTile, end = begin + kMaskTile;
  if (end > kv_len_) return Sight::kSome;
  const KeyRange low = mask_.Band(first, q_len_, kv_len_), high = mask_.Band(last - 1, q_len_, kv_len_);
  const bool in_prefix = end <= prefix_;
  const bool outside = begin >= prefix_ && (high.end <= begin || low.begin >= end);
  if (outside) return Sight::kNothing;
  if (!in_prefix && !(high.begin <= begin && low.end >= end)) return Sight::kSome;
  if (!padding_.empty() && padding_[tile] != ~uint64_t{0}) {
    return padding_[tile] == 0 ? Sight::kNothing : Sight::kSome;
  }
  if (!tiles_.row_begins.empty()) {
    const bool listed = ListsTile(first, tile);
    if (first / kMaskTile != (last - 1) / kMaskTile) return Sight::kSome;
    if (!listed) return Sight::kNothing;
  }
  if (!q_documents_.empty()) {
    const KeyRange ids = tile_documents_[tile];
    const auto [smallest, largest] = std::minmax_element(q_documents_.begin() + first, q_documents_.begin() + last);
    if (*largest < ids.begin || *smallest > ids.end) return Sight::kNothing;
    if (ids.begin != ids.end || *smallest != *largest) return Sight::kSome;
  }
  return Sight::kAll;
}

}  // namespace attend
