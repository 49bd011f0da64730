// What the plan says is what the runtime does: bytes planned are bytes allocated, and work planned is work counted.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "measure/model_work.h"
#include "plan/plan.h"
#include "tensor/packed_bytes.h"
#include "tests/golden_util.h"

namespace attend {
namespace {

std::vector<std::string> ModelPaths() {
  std::vector<std::string> paths = {GoldenPath("models/llama"), GoldenPath("models/llama_9_3")};
  if (const std::string real = RealModelPath(); !real.empty()) paths.push_back(real);
  return paths;
}

ModelFootprint FootprintOf(const std::string& path, const ModelHeader& header) {
  if (path.ends_with(".gguf")) return MakeFootprint(header, GgufFile::Open(path)->tensors());
  return MakeFootprint(header, SafetensorsFile::Open(path + "/model.safetensors")->tensors());
}

TEST(PlanTruth, WeightsAreWhatLoadingPacks) {
  ThreadPool pool(2);
  for (const std::string& path : ModelPaths()) {
    const auto model = LoadModel(path, pool);
    ASSERT_TRUE(model) << Describe(model.error());
    const ModelFootprint footprint = FootprintOf(path, model->front.header);
    EXPECT_EQ(footprint.weights_bytes, model->weights.size_bytes()) << path;
    EXPECT_EQ(static_cast<double>(footprint.decode_weight_bytes), WeightBytesRead(model->weights)) << path;
  }
}

TEST(PlanTruth, TheCacheIsWhatExtendAllocates) {
  for (const std::string& path : ModelPaths()) {
    const auto front = LoadFrontEnd(path);
    ASSERT_TRUE(front);
    for (const char* name : {"bf16", "f32", "f16", "q8", "q4", "q8,q4/32"}) {
      const KvFormat format = *ParseKvFormat(name);
      for (int64_t tokens : {1, 64, 65, 300}) {
        auto cache = KvCache::Make(CacheDescriptors(front->header, format));
        ASSERT_TRUE(cache && cache->Extend(tokens));
        EXPECT_EQ(KvAllocatedBytes(ShapeOf(front->header), format, tokens), cache->allocated_bytes())
            << path << " " << name << " " << tokens;
      }
    }
  }
}

// The workspace is planned with a round figure for each thread's scratch: never less than a pass takes.
TEST(PlanTruth, TheWorkspaceIsEnough) {
  for (const std::string& path : ModelPaths()) {
    for (Isa isa : DetectMachine().isas) {
      for (Compute compute : {Compute::kF32, Compute::kBf16}) {
        const Runner run(path, isa, compute, 512);
        KvCache cache = run.Cache();
        std::vector<uint32_t> ids(65);
        ASSERT_TRUE(run.transformer->Forward(ids, cache, Logits::kAll, [](int64_t, int64_t, const float*, int64_t) {}));
        const bool bf16_copy = run.transformer->kernels().has_bf16_dot && compute == Compute::kBf16;
        EXPECT_LE(run.transformer->workspace_bytes(),
                  WorkspaceBytes(MakeFootprint(run.model.front.header, {}), 512, kLogitRows, bf16_copy, 2))
            << path;
      }
    }
  }
}

RC_GTEST_PROP(PlanTruth, AMatrixPacksToItsFormula, ()) {
  static ThreadPool pool(1);
  const DType dtype =
      *rc::gen::element(DType::kF32, DType::kF16, DType::kBf16, DType::kQ4_0, DType::kQ4_1, DType::kQ8_0);
  const DTypeInfo info = InfoOf(dtype);
  const int64_t outputs = *rc::gen::inRange<int64_t>(1, 200);
  const int64_t blocks = *rc::gen::inRange<int64_t>(1, info.block_values == 1 ? 200 : 6);
  const std::vector<uint8_t> bytes(static_cast<size_t>(outputs * blocks * info.block_bytes));
  const int64_t inputs = blocks * info.block_values;
  const auto packed = PackedMatrix::Pack(dtype, bytes, outputs, inputs, {}, "matrix", pool);
  RC_ASSERT(packed.has_value());
  RC_ASSERT(packed->size_bytes() ==
            PackedMatrixBytes(dtype, static_cast<uint64_t>(outputs), static_cast<uint64_t>(inputs)));
  RC_ASSERT(packed->size_bytes() ==
            PackedMatrixBytes(dtype, static_cast<uint64_t>(outputs), static_cast<uint64_t>(inputs)));
}

}  // namespace
}  // namespace attend
