#include "measure/model_work.h"

#include "formats/model_shapes.h"
#include "measure/measure_test_util.h"

namespace attend {
namespace {

using ModelWorkTest = TinyModelTest;

TEST_F(ModelWorkTest, AnEmbeddingThatIsNotTheHeadIsNotRead) {
  ASSERT_FALSE(header().tied_embeddings);
  const double all = static_cast<double>(model_.weights.size_bytes());
  EXPECT_DOUBLE_EQ(WeightBytesRead(model_.weights), all - static_cast<double>(model_.weights.embedding.size_bytes()));
}

TEST_F(ModelWorkTest, GenerationReadsWeightsOnceATokenAndTheCacheAsItGrows) {
  const double weights = WeightBytesRead(model_.weights),
               cached = static_cast<double>(ShapeOf(header()).KvBytesPerToken(KvFormat{}));
  EXPECT_DOUBLE_EQ(GenerationBytes(header(), model_.weights, KvFormat{}, 1, 0), weights + cached);
  EXPECT_DOUBLE_EQ(GenerationBytes(header(), model_.weights, KvFormat{}, 2, 10), 2 * weights + (11 + 12) * cached);
}

}  // namespace
}  // namespace attend
