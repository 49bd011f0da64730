#include "text/byte_bpe.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "base/utf8.h"

namespace attend {
namespace {

constexpr size_t kNone = SIZE_MAX;

struct Symbol {
  uint32_t id;
  size_t offset;    // of its first byte in the piece
  size_t previous;  // kNone at the ends
  size_t next;
};

struct Candidate {
  const BpeMerge* merge;
  size_t position;  // of the left symbol
  size_t right;     // of the right symbol, to see that the pair is still this one
};

struct Later {
  bool operator()(const Candidate& a, const Candidate& b) const {
    return a.merge->rank != b.merge->rank ? a.merge->rank > b.merge->rank : a.position > b.position;
  }
};

// GPT-2 keeps the printable bytes of Latin-1 as they are and numbers the others from U+0100.
std::unordered_map<uint32_t, uint8_t> MakeSpellingTable() {
  std::unordered_map<uint32_t, uint8_t> table;
  uint32_t next = 0x100;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    table[printable ? byte : next++] = static_cast<uint8_t>(byte);
  }
  return table;
}

}  // namespace

std::optional<std::string> BytesOfSpelling(std::string_view spelling) {
  static const std::unordered_map<uint32_t, uint8_t> table = MakeSpellingTable();
  std::string bytes;
  for (size_t i = 0; i < spelling.size();) {
    const Utf8Step step = DecodeUtf8(spelling, i);
    const auto entry = table.find(step.code_point);
    if (!step.valid || entry == table.end()) return std::nullopt;
    bytes += static_cast<char>(entry->second);
    i += step.length;
  }
  return bytes;
}

ByteBpe::ByteBpe(const std::array<uint32_t, 256>& byte_tokens, std::vector<BpeMerge> merges, size_t vocab_size)
    : byte_tokens_(byte_tokens), merges_(std::move(merges)), first_merge_(vocab_size + 1, 0) {
  std::sort(merges_.begin(), merges_.end(), [](const BpeMerge& a, const BpeMerge& b) {
    return a.left != b.left ? a.left < b.left : a.right < b.right;
  });
  for (const BpeMerge& merge : merges_) ++first_merge_[merge.left + 1];
  for (size_t id = 0; id < vocab_size; ++id) first_merge_[id + 1] += first_merge_[id];
}

const BpeMerge* ByteBpe::Find(uint32_t left, uint32_t right) const {
  const auto begin = merges_.begin() + first_merge_[left];
  const auto end = merges_.begin() + first_merge_[left + 1];
  const auto found = std::lower_bound(begin, end, right, [](const BpeMerge& m, uint32_t id) { return m.right < id; });
  return found != end && found->right == right ? &*found : nullptr;
}

void ByteBpe::Append(std::string_view piece, size_t base, std::vector<uint32_t>& ids,
                     std::vector<size_t>* offsets) const {
  std::vector<Symbol> symbols;
  symbols.reserve(piece.size());
  for (size_t i = 0; i < piece.size(); ++i) {
    const uint32_t id = byte_tokens_[static_cast<uint8_t>(piece[i])];
    if (id != kNoToken) symbols.push_back({id, i, symbols.size() - 1, symbols.size() + 1});
  }
  if (symbols.empty()) return;
  symbols.front().previous = kNone;
  symbols.back().next = kNone;

  std::vector<Candidate> storage;
  storage.reserve(symbols.size());
  std::priority_queue<Candidate, std::vector<Candidate>, Later> queue(Later{}, std::move(storage));
  const auto consider = [&](size_t left, size_t right) {
    if (left == kNone || right == kNone) return;
    if (const BpeMerge* merge = Find(symbols[left].id, symbols[right].id)) queue.push({merge, left, right});
  };
  for (size_t i = 0; i + 1 < symbols.size(); ++i) consider(i, i + 1);

  while (!queue.empty()) {
    const auto [merge, left, right] = queue.top();
    queue.pop();
    // A symbol that was joined to its left neighbour keeps kNoToken, so a stale pair never looks like its merge.
    const bool current =
        symbols[left].id == merge->left && symbols[left].next == right && symbols[right].id == merge->right;
    if (!current) continue;
    symbols[left].id = merge->joined;
    symbols[left].next = symbols[right].next;
    if (symbols[left].next != kNone) symbols[symbols[left].next].previous = left;
    symbols[right].id = kNoToken;
    consider(symbols[left].previous, left);
    consider(left, symbols[left].next);
  }
  for (size_t i = 0; i != kNone; i = symbols[i].next) {
    ids.push_back(symbols[i].id);
    if (offsets != nullptr) offsets->push_back(base + symbols[i].offset);
  }
}

}  // namespace attend
