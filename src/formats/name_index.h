// Finds the position of a name in a list that someone else owns. Hashes are sorted, not kept in buckets: names chosen
// to collide cost a few string comparisons more, never quadratic time. Building takes n log n, finding log n.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace attend {

class NameIndex {
 public:
  // name_of(i) is the name at position i < size. Returns the position of the first name that stands there a second
  // time, or nothing when all differ.
  template <typename NameOf>
  std::optional<uint32_t> Build(size_t size, NameOf&& name_of) {
    slots_.clear();
    slots_.reserve(size);
    for (uint32_t i = 0; i < size; ++i) slots_.push_back({Hash(name_of(i)), i});
    std::sort(slots_.begin(), slots_.end(), [&](const Slot& a, const Slot& b) {
      if (a.hash != b.hash) return a.hash < b.hash;
      const int order = std::string_view(name_of(a.position)).compare(name_of(b.position));
      return order != 0 ? order < 0 : a.position < b.position;
    });
    std::optional<uint32_t> duplicate;
    for (size_t i = 1; i < slots_.size(); ++i) {
      const bool same =
          slots_[i].hash == slots_[i - 1].hash && name_of(slots_[i].position) == name_of(slots_[i - 1].position);
      if (same && (!duplicate || slots_[i].position < *duplicate)) duplicate = slots_[i].position;
    }
    return duplicate;
  }

  // Precondition: name_of gives the names that Build saw.
  template <typename NameOf>
  std::optional<uint32_t> Find(std::string_view name, NameOf&& name_of) const {
    const uint64_t hash = Hash(name);
    const auto before = [&](const Slot& slot, uint64_t wanted) {
      return slot.hash != wanted ? slot.hash < wanted : std::string_view(name_of(slot.position)) < name;
    };
    const auto slot = std::lower_bound(slots_.begin(), slots_.end(), hash, before);
    if (slot == slots_.end() || slot->hash != hash || name_of(slot->position) != name) return std::nullopt;
    return slot->position;
  }

 private:
  struct Slot {
    uint64_t hash;
    uint32_t position;
  };

  static uint64_t Hash(std::string_view name) { return std::hash<std::string_view>{}(name); }

  std::vector<Slot> slots_;
};

}  // namespace attend
