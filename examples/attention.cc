#include <attend/attend.h>

#include <cstdio>

int main() {  // one new token, three in the cache; two query heads share one key/value head of dimension 2
  const float q[] = {1, 0, 0, 2}, k[] = {1, 0, 0, 1, 1, 1}, v[] = {1, 2, 3, 4, 5, 6};
  attend::Context context;  // this machine's instruction set and cores
  const auto result = attend::Attention({.num_q_heads = 2, .num_kv_heads = 1, .head_dim = 2}, q, k, v, context);
  if (!result) return std::puts(attend::Describe(result.error()).c_str()), 1;
  for (float x : result->out) std::printf("%.4f\n", x);  // head 0: two values, head 1: two values
  return 0;
}
