#include "formats/name_index.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>

namespace attend {
namespace {

RC_GTEST_PROP(NameIndex, FindsWhatAMapFinds, (std::vector<std::string> names, const std::string& other)) {
  const auto name_of = [&](size_t i) -> const std::string& { return names[i]; };
  std::map<std::string, uint32_t> expected;
  std::optional<uint32_t> expected_duplicate;
  for (uint32_t i = 0; i < names.size(); ++i) {
    if (!expected.emplace(names[i], i).second && !expected_duplicate) expected_duplicate = i;
  }
  NameIndex index;
  RC_ASSERT(index.Build(names.size(), name_of) == expected_duplicate);
  names.push_back(other);
  for (const std::string& name : names) {
    const auto place = expected.find(name);
    const auto found = index.Find(name, name_of);
    RC_ASSERT(found.has_value() == (place != expected.end()));
    if (found) RC_ASSERT(*found == place->second);
  }
}

}  // namespace
}  // namespace attend
