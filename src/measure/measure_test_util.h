// A tiny stored model and the threads and kernels to run it.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "kernels/dispatch.h"
#include "model/load.h"

namespace attend {

class TinyModelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto loaded = LoadModel(std::string(ATTEND_SOURCE_DIR) + "/tests/golden/models/llama", pool_);
    ASSERT_TRUE(loaded) << Describe(loaded.error());
    model_ = std::move(*loaded);
  }

  const ModelHeader& header() const { return model_.front.header; }
  const KernelTable& kernels() const { return KernelsFor(machine_.isa); }

  Machine machine_ = DetectMachine();
  ThreadPool pool_{2};
  LoadedModel model_;
};

}  // namespace attend
