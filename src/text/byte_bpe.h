// Byte-level BPE: the bytes of a piece become tokens, and the pair whose merge has the lowest rank is joined until no
// pair has one (leftmost first among equals). A heap over a linked list: O(n log n) for one word of n bytes, however
// long. Bytes that the vocabulary has no token for are dropped before merging, so their neighbours can merge.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attend {

struct BpeMerge {
  uint32_t left;
  uint32_t right;
  uint32_t joined;
  uint32_t rank;
};

class ByteBpe {
 public:
  ByteBpe() = default;

  // byte_tokens: the token of each single byte, kNoToken where there is none. Every id in merges is below vocab_size.
  static constexpr uint32_t kNoToken = UINT32_MAX;
  ByteBpe(const std::array<uint32_t, 256>& byte_tokens, std::vector<BpeMerge> merges, size_t vocab_size);

  // Appends the tokens of one piece. With offsets, also `base` plus the offset of each token's first byte in the piece.
  void Append(std::string_view piece, size_t base, std::vector<uint32_t>& ids, std::vector<size_t>* offsets) const;

 private:
  const BpeMerge* Find(uint32_t left, uint32_t right) const;

  std::array<uint32_t, 256> byte_tokens_ = {};
  std::vector<BpeMerge> merges_;       // by left, then right
  std::vector<uint32_t> first_merge_;  // [vocab_size + 1] into merges_, by left
};

// GPT-2 spells every byte as one printable character ("Ġ" is the space). The bytes of such a spelling, or nothing when
// a character of it stands for no byte.
std::optional<std::string> BytesOfSpelling(std::string_view spelling);

}  // namespace attend
